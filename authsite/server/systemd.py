"""Tell systemd when the service answers (``Type=notify``; sd_notify(3))."""

import os
import socket
import time
from contextlib import suppress
from threading import Thread

PAUSE = 0.1  # seconds before each attempt to connect


def tell_systemd(host: str, port: int) -> None:
    """Send ``READY=1`` to $NOTIFY_SOCKET, in a thread, once the port accepts connections.

    Without this variable, which systemd sets, nothing happens.
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
