"""A worker that cannot start ends the service, which says why; others would fail in the same way.

The folder of the metrics is the one place that all processes of a service know.
"""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from authsite.monitoring.workers import FOLDER_VARIABLE

_FILE = "failure"
_WAIT = 30  # seconds in which the parent ends this process


def end_service(message: str) -> NoReturn:
    """Tell the parent why this worker cannot start, and to stop."""
    if folder := os.environ.get(FOLDER_VARIABLE):
        with suppress(FileExistsError), open(Path(folder, _FILE), "x", encoding="utf-8") as file:
            file.write(message)
        os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(_WAIT)  # a worker that ends by itself is replaced
    raise SystemExit(message)


def failure_in(folder: str) -> str | None:
    """What the first worker that could not start has said; None without one."""
    try:
        return Path(folder, _FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
