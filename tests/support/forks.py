"""Running a function in a forked process."""

import os
import signal

import pytest


def in_forked_process(function, seconds=20):
    """Whether ``function()`` returned something true in a child process, within ``seconds``."""
    if not hasattr(os, "fork"):
        pytest.skip("there is no fork here")
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        done = False
        try:
            done = function()
        finally:
            os._exit(0 if done else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
