"""Folders that are gone when the process is."""

import functools
import tempfile


def new_folder(prefix):
    """A new, empty folder; removed with all others when this process ends."""
    return tempfile.mkdtemp(prefix=f"{prefix}-", dir=_all().name)


@functools.cache
def _all():
    return tempfile.TemporaryDirectory(prefix="authsite-tests-", ignore_cleanup_errors=True)
