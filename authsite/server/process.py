"""The processes of ``authsite serve``: the main one, and workers that are forked from it."""

import ctypes
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

STOP = (signal.SIGTERM, signal.SIGINT)
PAUSE = 0.1  # seconds before each attempt to connect


@contextmanager
def no_collections() -> Iterator[None]:
    """Import and set up without garbage collections; none looks at the result later, either.

    Modules, routes and settings live as long as the process, so collections that search them only
    take time. Workers that are forked later share their memory (documentation of `gc.freeze`).
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def tell_systemd(host: str, port: int) -> None:
    """Tell systemd when the service answers (``Type=notify``; sd_notify(3)).

    A thread sends ``READY=1`` to $NOTIFY_SOCKET once the port accepts connections. Without this
    variable, which systemd sets, nothing happens.
    """
    address = os.environ.pop("NOTIFY_SOCKET", "")
    if address:
        Thread(target=_wait_and_tell, args=(address, host, port), daemon=True).start()


def _wait_and_tell(address: str, host: str, port: int) -> None:
    connected = False
    while not connected:
        # Before the first attempt, too: the workers are forked while this thread sleeps.
        time.sleep(PAUSE)
        with suppress(OSError), socket.create_connection((host, port), timeout=1):
            connected = True
    if address.startswith("@"):  # a socket that has no file
        address = f"\0{address[1:]}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.sendto(b"READY=1", address)


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


def end_with_parent() -> None:
    """Stop this process when the one that started it is gone, however that ended (Linux)."""
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG, prctl(2)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)
