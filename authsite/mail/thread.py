"""The sender as a thread of a server process."""

import threading
from multiprocessing.util import Finalize
from typing import Any

from .sender import open_sender, run

LAST_MAIL = 5.0  # seconds that a mail under way may still take when the process ends


def start(registry: Any) -> None:
    """Send the application's mail from now on, until the process ends."""
    stop = threading.Event()
    thread = threading.Thread(
        target=run, args=(open_sender(registry), stop), name="authsite-mail", daemon=True
    )
    thread.start()
    # Not atexit: a worker that its server has forked ends without it.
    Finalize(None, _end, args=(stop, thread), exitpriority=1)


def _end(stop: threading.Event, thread: threading.Thread) -> None:
    """Let the mail under way end; cut off, it would be sent a second time by somebody else."""
    stop.set()
    thread.join(LAST_MAIL)
