"""Signals that reach a worker while it starts."""

import os
import signal

STOP = (signal.SIGTERM, signal.SIGINT)


def end_workers_that_start() -> None:
    """Let SIGTERM and Ctrl-C end each worker that is forked from now on until it runs.

    A forked process has the handlers of its parent, with which it would ignore both signals until
    Granian has set the handlers of the worker.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_block, after_in_parent=_unblock, after_in_child=_end_at_once)


def _block() -> None:
    # Python forgets a signal that a forked process gets before `_end_at_once`.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP)


def _unblock() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP)


def _end_at_once() -> None:
    for number in STOP:
        signal.signal(number, signal.SIG_DFL)
    _unblock()
