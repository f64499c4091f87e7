"""Doing things at the same moment."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier


def together(*actions):
    """Run all ``actions`` in threads that start at once; their results, in order."""
    barrier = Barrier(len(actions))

    def run(action):
        barrier.wait(30)
        return action()

    with ThreadPoolExecutor(len(actions)) as pool:
        return [future.result() for future in [pool.submit(run, action) for action in actions]]
