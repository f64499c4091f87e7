"""Three machines with etcd, Patroni and PostgreSQL, as docs/scaling.md has them, all on this one.

The files are the blocks of that page. Each address of it (``10.0.0.11:5432``) becomes a free port
of 127.0.0.1, and each of its folders one below a separate folder. Started by root, all run as the
user postgres, as on Debian.
"""

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import psycopg

from tests.support import guides
from tests.support.postgres import NAME, program
from tests.support.servers import free_port

from .gate import Gate

NUMBERS = (1, 2, 3)
OWNER = "postgres"
ADDRESS = re.compile(r"\b10\.0\.0\.1([123])(?::(\d+))?")
ETCD, PATRONI, SETTINGS = "/etc/default/etcd", "/etc/patroni/config.yml", "authsite.env"
FOLDERS = ("/var/lib/etcd", "/var/lib/postgresql", "/var/run/postgresql")
BIN = "/usr/lib/postgresql/15/bin"
PACKAGES = {"patroni": "patroni", "etcd": "etcd-server", "nginx": "nginx"}
START_SECONDS = 150


def documented():
    """The blocks of docs/scaling.md that are files, by their names, and the SQL as ``sql``."""
    found = guides.blocks("scaling")
    files = {each.title: each.text for each in found if each.title in (ETCD, PATRONI, SETTINGS)}
    [sql] = [each.text for each in found if each.language == "sql"]
    return files | {"sql": sql}


def require():
    """End with what to install, if a program is missing."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
    missing = [package for name, package in PACKAGES.items() if not shutil.which(name, path=path)]
    if missing:
        raise SystemExit(f"R29 needs more programs: apt-get install {' '.join(missing)}")


class Machine:
    """One of the three. ``gates``: the ways of its Patroni to each etcd."""

    def __init__(self, number, folder, ports, gates):
        self.name, self.folder, self.gates = f"db{number}", folder, gates
        self.number, self.ports = number, ports
        self.etcd = self.patroni = None

    def rendered(self, name):
        """A file of the page, as this machine has it."""
        text = documented()[name].replace("db1", self.name, 1)
        alone = re.compile(r"10\.0\.0\.11(?=:\d+$)", re.MULTILINE)  # not in a list of all
        text = alone.sub(f"10.0.0.1{self.number}", text)
        if name == PATRONI:
            ways = ",".join(f"127.0.0.1:{gate.port}" for gate in self.gates)
            text = re.sub(r"(?<=hosts: ).+", ways, text)
            text = text.replace("10.0.0.0/24", "127.0.0.1/32")
            if os.getuid():  # a socket tells PostgreSQL another user than postgres
                text = text.replace("local all postgres peer", "local all postgres scram-sha-256")
            if not Path(BIN, "postgres").exists():
                text = text.replace(BIN, str(program("postgres").parent))
        for folder in FOLDERS:
            text = text.replace(folder, str(self.folder / folder.rpartition("/")[2]))
        return ADDRESS.sub(lambda match: f"127.0.0.1:{self.ports[match[1], match[2]]}", text)

    @property
    def data(self):
        """The folder of PostgreSQL's data."""
        return self.folder / "postgresql" / "15" / "authsite"

    def port(self, documented_port):
        """The port that stands for one of the page."""
        return self.ports[str(self.number), documented_port]

    def prepare(self):
        """The folders that Debian's packages make."""
        for folder in ("", "etcd", "postgresql", "postgresql/15"):
            path = self.folder / folder
            path.mkdir(exist_ok=True)
            if not os.getuid():
                shutil.chown(path, OWNER)

    def start(self):
        """Start what does not run."""
        if self.etcd is None:
            lines = self.rendered(ETCD).splitlines()
            self.etcd = self._run("etcd", **dict(line.split("=", 1) for line in lines))
        if self.patroni is None:
            config = self.folder / "config.yml"
            config.write_text(self.rendered(PATRONI))
            # Otherwise Patroni would ask etcd for its addresses, and pass by the gates.
            variables = {"HOME": str(self.folder), "PATRONI_ETCD_USE_PROXIES": "true"}
            self.patroni = self._run("patroni", config, **variables)

    def _run(self, *command, **variables):
        own = {}
        if not os.getuid():
            user = pwd.getpwnam(OWNER)
            own = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        with open(self.folder / f"{command[0]}.log", "ab") as log:
            return subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, env=os.environ | variables, **own
            )

    def pids(self):
        """The ids of all processes of the machine, PostgreSQL's first."""
        found = []
        with suppress(OSError, ValueError, IndexError):
            postmaster = int((self.data / "postmaster.pid").read_text().split()[0])
            children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text()
            found = [postmaster, *map(int, children.split())]
        running = [each for each in (self.patroni, self.etcd) if each and each.poll() is None]
        return [*found, *(each.pid for each in running)]

    def signal(self, number):
        """Send a signal to all processes; they do not get the chance to help each other."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self):
        """SIGKILL to all, as a machine that loses its power."""
        self.signal(signal.SIGKILL)
        for process in (self.patroni, self.etcd):
            if process:
                process.wait(30)
        self.etcd = self.patroni = None

    def asks(self, path):
        """The response of Patroni's REST API; None without one."""
        with suppress(httpx.TransportError):
            return httpx.get(f"http://127.0.0.1:{self.port('8008')}{path}", timeout=1)

    def leads(self):
        """Whether it is the leader by Patroni's REST API, as HAProxy would ask."""
        answer = self.asks("/primary")
        return answer is not None and answer.status_code == 200


class Patroni:
    """The three machines, with the methods of a `tests.support.postgres.Cluster` that runs use."""

    def __init__(self, folder, stack):
        self.folder = folder
        kinds = ("2379", "2380", "5432", "8008")
        ports = {(str(number), kind): free_port() for number in NUMBERS for kind in kinds}
        self.machines = []
        for number in NUMBERS:
            gates = [Gate(free_port(), ports[str(other), "2379"]) for other in NUMBERS]
            for gate in gates:
                stack.enter_context(gate)
            self.machines.append(Machine(number, folder / f"db{number}", ports, gates))

    @property
    def leader(self):
        """The machine that leads now."""
        return self.wait_for_leader(self.machines)

    @property
    def variables(self):
        """The settings of authsite on the page."""
        lines = self.machines[0].rendered(SETTINGS).splitlines()
        return dict(line.split("=", 1) for line in lines)

    @property
    def url(self):
        """The URL of the database on the leader."""
        user, _, _ = self.variables["AUTHSITE_DATABASE_URL"].partition("@")
        return f"{user}@127.0.0.1:{self.leader.port('5432')}/{NAME}"

    def create(self):
        """Start all, and run the SQL of the page on the leader."""
        for machine in self.machines:
            machine.prepare()
            machine.start()
        self.wait_until_safe()
        with psycopg.connect(self._superuser(), autocommit=True) as connection:
            for statement in documented()["sql"].split(";")[:-1]:
                connection.execute(statement)

    def connect(self):
        """A connection of psycopg to the leader, in AUTOCOMMIT."""
        return psycopg.connect(self.url, autocommit=True)

    def _superuser(self):
        password = re.search(r"superuser: .*password: ([\w-]+)", documented()[PATRONI])[1]
        port = self.leader.port("5432")
        return f"postgresql://postgres:{password}@127.0.0.1:{port}/postgres"

    def wait_for_leader(self, among, seconds=START_SECONDS):
        """The first of the machines that leads."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for machine in among:
                if machine.leads():
                    return machine
            time.sleep(0.05)
        raise RuntimeError(f"Patroni has no leader: {self._logs()}")

    @property
    def synchronous(self):
        """The machine that has every answered transaction beside the leader; None without one."""
        answer = self.leader.asks("/cluster")
        members = answer.json()["members"] if answer else []
        names = [each["name"] for each in members if each["role"] == "sync_standby"]
        return next((each for each in self.machines if each.name in names), None)

    def wait_for_synchronous(self, among, seconds=START_SECONDS):
        """Until one of the machines is the synchronous standby."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.synchronous in among:
                return
            time.sleep(0.05)
        raise RuntimeError(f"no standby is synchronous: {self._logs()}")

    def wait_until_safe(self, seconds=START_SECONDS):
        """Until two standbys follow, one of them synchronously; returns how long it took."""
        began = time.monotonic()
        wanted = ["leader", "replica", "sync_standby"]
        while time.monotonic() < began + seconds:
            answer = self.leader.asks("/cluster")
            members = answer.json()["members"] if answer else []
            roles = sorted(
                each["role"] for each in members if each["state"] in ("running", "streaming")
            )
            if roles == wanted and self._followed():
                return time.monotonic() - began
            time.sleep(0.2)
        raise RuntimeError(f"no standby follows: {self._logs()}")

    def _followed(self):
        with psycopg.connect(self._superuser()) as connection:
            states = "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'"
            found = connection.execute(states).fetchall()
        return len(found) == 2 and ("sync",) in found

    def stop(self):
        """End all processes, by their ids."""
        for machine in self.machines:
            machine.signal(signal.SIGCONT)
            machine.kill()

    def _logs(self):
        logs = sorted(self.folder.glob("db*/patroni.log"))
        return "\n".join(path.read_text(errors="replace")[-1500:] for path in logs)


@contextmanager
def patroni():
    """A `Patroni` in a separate folder, not created yet; it is stopped and removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="authsite-patroni-"))
    folder.chmod(0o755)
    with ExitStack() as stack:
        made = Patroni(folder, stack)
        try:
            yield made
        finally:
            made.stop()
            shutil.rmtree(folder, ignore_errors=True)
