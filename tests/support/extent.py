"""How much a run of the tests does: the usual run, or everything (``AUTHSITE_TEST_ALL=1``).

The usual run has fixed seeds and small volumes. A whole run has large volumes and a random seed,
which pytest prints in its head; ``AUTHSITE_TEST_SEED`` repeats it.
"""

import os
import secrets

ALL = os.environ.get("AUTHSITE_TEST_ALL", "") not in ("", "0")
if ALL:  # in the environment, since the processes of pytest-xdist must have the same seed
    os.environ.setdefault("AUTHSITE_TEST_SEED", str(secrets.randbelow(2**32)))
_SEED = os.environ.get("AUTHSITE_TEST_SEED")


def volume(usual, whole):
    """How often a test repeats what it does."""
    return whole if ALL else usual


def seed(usual):
    """The seed of a test that has ``usual`` in the usual run."""
    return int(_SEED) if _SEED else usual


def headline():
    """What pytest prints before the tests."""
    extent = "everything on both databases" if ALL else "the usual selection"
    return f"tests: {extent}" + (f"; AUTHSITE_TEST_SEED={_SEED} repeats them" if _SEED else "")
