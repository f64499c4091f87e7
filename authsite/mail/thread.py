"""The sender as a thread of a server process."""

import threading
from typing import Any

from authsite import background

from .sender import open_sender, run

LAST_MAIL = 5.0  # seconds that a mail under way may still take when the process ends


def start(registry: Any) -> None:
    """Send the application's mail from now on, until the process ends."""
    stop = threading.Event()
    # Cut off, the mail under way would be sent a second time by somebody else.
    background.start("mail", run, open_sender(registry), stop, end=stop.set, patience=LAST_MAIL)
