"""Folders that are gone when the process is."""

import functools
import shutil
import tempfile
from pathlib import Path

_MEMORY = Path("/dev/shm")


def memory(required):
    """The path of the system's folder in memory if ``required`` bytes are free there; else None."""
    enough = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free >= required
    return _MEMORY if enough else None


def new_folder(prefix):
    """A new, empty folder; removed with all others when this process ends."""
    return tempfile.mkdtemp(prefix=f"{prefix}-", dir=_all().name)


def new_memory_folder(prefix):
    """The same in memory, where the system has one: no commit waits for a disk."""
    return tempfile.mkdtemp(prefix=f"{prefix}-", dir=_all(memory(0)).name)


@functools.cache
def _all(parent=None):
    return tempfile.TemporaryDirectory(
        prefix="authsite-tests-", dir=parent, ignore_cleanup_errors=True
    )
