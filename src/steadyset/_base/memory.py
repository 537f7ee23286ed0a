"""How much memory this machine has."""

import os


def physical_memory() -> int:
    """Return the bytes of memory that are built in."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
