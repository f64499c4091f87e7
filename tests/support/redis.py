"""A real Redis on 127.0.0.1, stopped by its own id."""

import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager

from tests.support.servers import free_port


def available():
    """Whether the program is here."""
    return shutil.which("redis-server") is not None


class Redis:
    """A server that can be killed, frozen and started again on the same port."""

    def __init__(self, folder):
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._folder = folder
        self.start()

    def start(self):
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                   "--dir", str(self._folder), "--logfile", "redis.log"]  # fmt: skip
        self._process = subprocess.Popen(command)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError("redis-server did not start")

    def kill(self):
        self._process.kill()
        self._process.wait(10)

    def freeze(self):
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self._process.send_signal(signal.SIGCONT)


@contextmanager
def serving(folder):
    """A `Redis` with its files in ``folder``."""
    server = Redis(folder)
    try:
        yield server
    finally:
        server.thaw()
        server.kill()
