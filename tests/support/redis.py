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

    def __init__(self, folder, *options):
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._folder, self._options = folder, options
        self.start()

    def start(self):
        command = ["redis-server", *self._options, "--port", str(self.port), "--bind", "127.0.0.1",
                   "--save", "", "--dir", str(self._folder), "--logfile", "redis.log"]  # fmt: skip
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
def serving(folder, *options):
    """A `Redis` with its files in ``folder``."""
    server = Redis(folder, *options)
    try:
        yield server
    finally:
        server.thaw()
        server.kill()


@contextmanager
def sentinel(folder):
    """The URL of a Sentinel, and the server that it watches."""
    watching = folder / "sentinel.conf"
    with serving(folder) as server:
        watching.write_text(f"sentinel monitor main 127.0.0.1 {server.port} 1\n")
        with serving(folder, str(watching), "--sentinel") as watcher:
            yield f"redis+sentinel://127.0.0.1:{watcher.port}/main", server


@contextmanager
def cluster(folder):
    """The URL of a cluster of one server that has all slots."""
    options = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    with serving(folder, *options) as server:
        ask = ["redis-cli", "-p", str(server.port), "CLUSTER"]
        subprocess.run([*ask, "ADDSLOTSRANGE", "0", "16383"], check=True, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            info = subprocess.run([*ask, "INFO"], check=True, capture_output=True, text=True)
            if "cluster_state:ok" in info.stdout:
                yield f"redis+cluster://127.0.0.1:{server.port}", server
                return
            time.sleep(0.05)
        raise RuntimeError("the cluster did not start")
