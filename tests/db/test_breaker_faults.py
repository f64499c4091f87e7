"""The breaker itself meets an error: it must not stay open."""

import pytest

from authsite.platform.db.engine import Breaker


class Answers:
    """A connection that can be opened."""

    def close(self):
        """Nothing to close."""


def test_a_breaker_that_cannot_begin_to_probe_does_not_stay_open():
    """Without a probe nothing would close it, and every request would be refused for good."""

    def failing():
        raise RuntimeError("can't start new thread")

    breaker = Breaker(failing)
    breaker.connect(Answers)
    with pytest.raises(RuntimeError):
        breaker.open()
    assert isinstance(breaker.connect(Answers), Answers)
