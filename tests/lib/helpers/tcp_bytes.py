"""How many bytes the TCP sockets of this process have received, by what the kernel counts."""

import os
import socket
import struct

_BYTES_RECEIVED = 128  # where Linux's struct tcp_info has it


def received():
    """Return the bytes that came in through all sockets that are open."""
    total = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(name))) as copy:
                info = copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
        except OSError:  # closed meanwhile, or no TCP socket
            continue
        if len(info) >= _BYTES_RECEIVED + 8:
            total += struct.unpack_from("<Q", info, _BYTES_RECEIVED)[0]
    return total
