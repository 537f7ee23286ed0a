"""The zip file around a model: its members, their sizes, and a digest over all of them."""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from typing import Any

from steadyset._base.memory import physical_memory

#: The member that holds the digest of all others.
DIGEST = "steadyset.sha256"
SCHEMA = "schema.json"


class Archive:
    """The members of a skops file, each of them once, as the bytes that the digest was made of."""

    def __init__(self, data: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            entries = file.infolist()
            if len({entry.filename for entry in entries}) != len(entries):
                raise ValueError("it holds two parts of one name")
            unpacked = sum(entry.file_size for entry in entries)
            if unpacked > physical_memory() / 3:  # it is held as it is, as it was checked, and as what it makes
                raise ValueError(f"it would unpack to {unpacked / 2**30:,.1f} GiB, more than this machine can hold")
            self.members: Mapping[str, bytes] = {entry.filename: file.read(entry) for entry in entries}

    def check_digest(self) -> None:
        """Refuse members that are not those that were written."""
        said = self.members.get(DIGEST)
        if said is None:
            raise ValueError("it has no digest: another release of steadyset wrote it, or another program")
        if said != digest(self.members):
            raise ValueError("its digest is not that of its content, so that it is damaged")

    def read(self, name: Any) -> bytes:
        """Return a member."""
        if name not in self.members:
            raise ValueError("it names a part that it does not hold")
        return self.members[name]


def packed(data: bytes) -> bytes:
    """Return a skops file with the digest of its members in it."""
    members = Archive(data).members
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer, "a") as file:
        file.writestr(DIGEST, digest(members))
    return buffer.getvalue()


def digest(members: Mapping[str, bytes]) -> bytes:
    """Return the SHA-256 of all members but the digest itself, by name: name, length and content of each."""
    whole = hashlib.sha256()
    for name in sorted(members):
        if name != DIGEST:
            encoded = name.encode("utf-8", "surrogatepass")
            whole.update(b"%d %d " % (len(encoded), len(members[name])) + encoded)
            whole.update(members[name])
    return whole.hexdigest().encode()
