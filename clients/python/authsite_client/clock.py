"""The time: ``time()`` in seconds since 1970, ``monotonic()`` for durations; ``sleep(seconds)``.

Tests freeze them.
"""

from time import monotonic, sleep, time

__all__ = ["monotonic", "sleep", "time"]
