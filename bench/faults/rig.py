"""The service under test: two workers on a PostgreSQL of the run's own, and its data."""

import os
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy.orm import Session as Transaction

from authsite.oauth.clients import service as clients
from authsite.oauth.tokens.issue import ClientRef, issue
from authsite.platform.context import Context, make_services
from authsite.platform.http.request_info import RequestInfo
from authsite.platform.settings import load, read_ini
from authsite.sign_in.gate import without_proof
from authsite.signup.service import register
from authsite.users.account import account_of
from tests.support.databases import migrated
from tests.support.postgres import cluster
from tests.support.servers import serving, write_ini
from tests.support.smtp import mail_server

from .traffic import PASSWORD, RESET_PAGE, Traffic

SESSIONS = 80  # of clients that refresh; eight seconds pass between two refreshes of one
WORKERS = 2


@dataclass
class Rig:
    """What a run uses. ``client`` is a form with the client's credentials.

    ``postgres``: the database: a `Cluster`, or a `bench.faults.sqlite.File`.
    """

    postgres: object
    ini: Path
    mail: object
    client: dict = field(default_factory=dict)
    sessions: list = field(default_factory=list)
    server: object = None  # an httpx client, with ``log`` and ``process``
    others: list = field(default_factory=list)  # the same of further servers

    @property
    def port(self):
        """The port of the service."""
        return self.server.base_url.port

    def traffic(self, **options):
        """`Traffic` that is to be used in a ``with`` statement."""
        return Traffic(self.port, self.client, self.sessions, **options)

    def workers(self):
        """The process ids of the workers."""
        pids = [each.process.pid for each in (self.server, *self.others)]
        children = [Path(f"/proc/{pid}/task/{pid}/children").read_text() for pid in pids]
        return [int(each) for each in " ".join(children).split()]

    def log(self):
        """What the servers have written to their logs so far."""
        servers = [self.server, *self.others]
        return "".join(each.log.read_text(errors="replace") for each in servers)


@contextmanager
def rig(*, through=None, **settings):
    """A `Rig` with a running server. ``through``: a function of the folder and the PostgreSQL, a
    context manager that yields the URL to use, such as that of a pooler."""
    with prepared(**settings) as made, serve(made, through):
        yield made


@contextmanager
def prepared(storage=cluster, sessions=SESSIONS, **settings):
    """A `Rig` with a filled database, and no server yet. ``storage`` makes the database."""
    with (
        tempfile.TemporaryDirectory(prefix="authsite-faults-") as name,
        storage() as postgres,
        mail_server() as mail,
    ):
        postgres.create()
        migrated(postgres.url)
        smtp = {"mail_driver": "smtp", "smtp_url": f"smtp://127.0.0.1:{mail.port}"}
        base = {"base_url": "http://localhost", "allowed_reset_password_urls": RESET_PAGE}
        ini = write_ini(Path(name), postgres.url, **base, **smtp, **settings)
        made = Rig(postgres, ini, mail)
        fill(made, sessions)
        yield made


@contextmanager
def serve(made, through=None, workers=WORKERS, **variables):
    """Start the server of a `Rig`."""
    with through(made) if through else _plain(made) as url:
        own = {"AUTHSITE_ENV_FILE": os.devnull, "AUTHSITE_DATABASE_URL": url}
        with serving(made.ini, workers, **own, **variables) as made.server:
            time.sleep(1)  # the background tasks have begun
            yield made


@contextmanager
def _plain(made):
    yield made.postgres.url


def fill(made, sessions):
    """Ann, a client, and ``sessions`` token families of Ann."""
    services = make_services(load(read_ini(made.ini), {}), limits=False)
    database = services.database
    with Transaction(database.transactional, expire_on_commit=False) as db, db.begin():
        ctx = Context(services, RequestInfo, lambda: db)
        user = register(ctx, {"email": "ann@example.com"}, PASSWORD)
        client, secret = clients.create(ctx, "app", "password")
        done = without_proof(account_of(user))
    pairs = [issue(ctx, ClientRef(client.id, 0), done, "") for _ in range(sessions)]
    made.client = {"client_id": str(client.id), "client_secret": secret}
    made.sessions = [{"access": pair.access_token, "refresh": pair.refresh_token} for pair in pairs]
    database.dispose()


def summary(answers):
    """How many answers had which status, as text."""
    counted = Counter(answer.status for answer in answers)
    return ", ".join(f"{count} × {status or 'none'}" for status, count in sorted(counted.items()))
