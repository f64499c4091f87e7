"""Purging in tests."""

from collections import Counter
from threading import Event

from authsite.platform.tasks.background import own_connection
from authsite.platform.tasks.cleanup import LONGEST_REST, steps


def purged(site, enough=float("inf")):
    """Purge, but end when ``enough`` rows are gone; how many rows of which cleanup were deleted."""
    deleted = Counter()
    with own_connection(site.database) as connection:
        for step in steps(connection, site.app.registry["authsite"]):
            deleted[step.cleanup.name] += step.deleted
            if deleted.total() >= enough:
                break
    return +deleted


class Script(Event):
    """A stop signal for a scheduled cleanup in the test's own thread, without real waiting.

    Each wait between cleanups calls the next of ``actions`` instead, and each rest between batches
    ``at_rest``; when there are no actions left it stops.
    """

    def __init__(self, *actions, at_rest=lambda: None):
        super().__init__()
        self.actions, self.at_rest = list(actions), at_rest
        self.waits, self.rests = [], []

    def wait(self, timeout=None):
        if timeout <= LONGEST_REST:
            self.rests.append(timeout)
            self.at_rest()
            return self.is_set()
        self.waits.append(timeout)
        if self.actions:
            self.actions.pop(0)()
        else:
            self.set()
        return self.is_set()


def nothing():
    """An action that is none."""
