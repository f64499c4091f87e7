"""Purging in tests."""

from collections import Counter
from threading import Event

from authsite.janitor.lock import own_connection
from authsite.janitor.round import steps


def purged(site, at_most=None):
    """Purge everything, or make ``at_most`` steps; how many rows of which part were deleted."""
    deleted = Counter()
    with own_connection(site.database) as connection:
        for number, step in enumerate(steps(connection, site.cfg), 1):
            deleted[step.part.name] += step.deleted
            if number == at_most:
                break
    return +deleted


class Script(Event):
    """A stop signal for a janitor in the test's own thread, which never really waits.

    Each wait calls the next of ``actions`` instead; after the last one it is told to stop.
    """

    def __init__(self, *actions):
        super().__init__()
        self.actions = list(actions)
        self.waits = []

    def wait(self, timeout=None):
        self.waits.append(timeout)
        if self.actions:
            self.actions.pop(0)()
        else:
            self.set()
        return self.is_set()


def nothing():
    """An action that is none."""
