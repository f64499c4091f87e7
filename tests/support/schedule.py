"""Which tests one process of pytest-xdist runs one after another."""

from xdist.scheduler import LoadFileScheduling

WORLD = "tests/system/test_"


class ByFile(LoadFileScheduling):
    """A process runs the whole of a file, and one process all files of `WORLD`.

    They share servers that take a process twelve seconds of processor time to start.
    """

    def _split_scope(self, nodeid):
        return WORLD if nodeid.startswith(WORLD) else super()._split_scope(nodeid)
