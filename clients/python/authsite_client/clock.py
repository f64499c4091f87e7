"""The time: ``time()`` in seconds since 1970, ``monotonic()`` for durations. Tests freeze both."""

from time import monotonic, time

__all__ = ["monotonic", "time"]
