"""Signals: to workers that start, and to a process whose parent is gone."""

import asyncio
import ctypes
import os
import signal
import sys

STOP = (signal.SIGTERM, signal.SIGINT)


def end_workers_that_start() -> None:
    """Let SIGTERM end each worker that is forked from now on, until it runs.

    A forked process has the handlers of its parent, with which it would ignore SIGTERM until
    Granian has set the handlers of the worker. Ctrl-C reaches the parent as well, which then ends
    its workers; to a worker that had ended before, it would start another one.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_block, after_in_parent=_unblock, after_in_child=_end_at_once)


def _block() -> None:
    # Python forgets a signal that a forked process gets before `_end_at_once`.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP)


def _unblock() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP)


def _end_at_once() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _unblock()


def hold_until_loop_runs() -> None:
    """Let SIGTERM and SIGINT wait until the event loop of this worker runs.

    Granian sets its handlers a moment before, and uvloop forgets a signal that arrives in between:
    the worker would run on until it is killed. Threads that are started from now on leave these
    signals to the main thread.
    """
    _block()
    asyncio.get_event_loop().call_soon(_unblock)


def end_with_parent() -> None:
    """Stop this process when the one that started it is gone, however that ended (Linux)."""
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG, prctl(2)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)
