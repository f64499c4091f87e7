"""The one place where tests get their data: an application, its clients and its users."""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session
from webtest import TestApp

from authsite import main
from authsite.oauth.clients import service as clients
from authsite.oauth.models import Client, Family
from authsite.platform.audit.models import AuditEvent
from authsite.platform.passwords import HashPool, Passwords
from authsite.platform.runtime import clock
from authsite.platform.settings import revealed
from authsite.recovery import service as reset_tokens
from authsite.signup.service import register
from authsite.users import service as users
from authsite.users.models import User
from tests.support import mails, quick_bcrypt
from tests.support.acting import acting
from tests.support.folders import new_folder

SECRET = "3hV8kQzW1rXyLm5TgBn2-Yc7PdFs4JwE9uKtRaHx"
PASSWORD = "correct horse battery"
HOME = "192.0.2.1"
"""The client address of a site's requests."""


# Credentials of first-party clients, as settings: ``site_with(**WEB)``.
WEB = {
    "clients.web.id": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
    "clients.web.secret": "Q2vZs9WmYtKx4LrJbH7dPfUc3NgEaXo1Ti8BwRyzS5k",
}
MOBILE_APP = {
    "clients.mobile-app.id": "0e37df36-f698-4e8b-9be0-6d2b9a0c1f11",
    "clients.mobile-app.secret": "mD4kYt7RzBqUx2HsWc9NvJfLg5PaEo3Kb6TiXy8SrQw",
}


@dataclass(frozen=True)
class ClientKeys:
    """A client's credentials, ready for a form."""

    client_id: str
    client_secret: str

    def form(self, **more):
        return {"client_id": self.client_id, "client_secret": self.client_secret, **more}


class HashedOnce:
    """Hashes and judges each password of the test data once in a process.

    That is most of a test's time. ``about`` is what the judgment depends on.
    """

    hashes: ClassVar[dict[tuple, str]] = {}
    judgments: ClassVar[dict[tuple, object]] = {}
    # On a busy machine the application's own pool gives up after two seconds.
    pool: ClassVar[HashPool] = HashPool(threads=1, timeout=60.0, niceness=0)

    def __init__(self, cfg, *about):
        self.about = (cfg.password_min_length, cfg.site_name, *cfg.base_url, *about)
        self.kind = (quick_bcrypt.in_use, cfg.bcrypt_cost, *revealed(cfg.password_pepper))
        self.passwords = Passwords(cfg.bcrypt_cost, revealed(cfg.password_pepper), self.pool)

    def hash(self, password):
        key = (*self.kind, password)
        if key not in self.hashes:
            self.hashes[key] = self.passwords.hash(password)
        return self.hashes[key]

    def run(self, work):
        """What ``work()`` returns, which judges the password of a registration."""
        if self.about not in self.judgments:
            self.judgments[self.about] = self.passwords.run(work)
        return self.judgments[self.about]


class Site:
    """An application on one database, with short words for what tests do all day."""

    def __init__(self, url, **settings):
        defaults = {
            "authsite.secret": SECRET,
            "authsite.database-url": url,
            "authsite.bcrypt-cost": "10",
            "authsite.limits": "off",
            "authsite.mail-driver": "file",
            "authsite.mail-folder": new_folder("mail"),
        }
        given = {f"authsite.{key.replace('_', '-')}": value for key, value in settings.items()}
        self.app = main({}, **{**defaults, **given})
        self.url = url
        self.cfg = self.app.registry["authsite"].settings
        self.database = self.app.registry["authsite"].database
        self.new_browser()

    def new_browser(self):
        """Make ``http`` a browser at home without cookies, whatever a test made of the last one."""
        self.http = TestApp(self.app, extra_environ={"REMOTE_ADDR": HOME})

    @contextmanager
    def db(self):
        """A session that commits at the end."""
        with (
            Session(self.database.transactional, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    def client(self, type="password", *, scope="", default_scope="", name="test"):
        """A new client's keys."""
        with self.db() as db:
            made, secret = clients.create(acting(db), name, type, scope, default_scope)
        return ClientKeys(str(made.id), secret)

    def first_party(self, name, type="password", **scopes):
        """The client whose credentials the settings hold under ``name``."""
        configured = self.cfg.clients[name]
        with self.db() as db:
            made, _ = clients.create(acting(db), name, type, **scopes)
            made.id = UUID(configured.id)
            made.secret_hash = clients.hash_secret(configured.secret.reveal())
        return ClientKeys(configured.id, configured.secret.reveal())

    def client_with_id(self, id, type="password", secret=None, name="test"):
        """A client whose id (and secret) the test chooses."""
        secret = secret or clients.new_secret()
        at = clock.now()
        with self.db() as db:
            db.add(
                Client(
                    id=id, name=name, type=type, secret_hash=clients.hash_secret(secret),
                    created_at=at, updated_at=at,
                )
            )  # fmt: skip
        return ClientKeys(str(id), secret)

    def user(self, email="ann@example.com", password=PASSWORD, *, confirmed=False, **more):
        """A new user."""
        services = self.app.registry["authsite"]
        identifiers = {"email": email, **more}
        passwords = HashedOnce(self.cfg, password, *identifiers.items())
        services = replace(services, passwords=passwords)
        with self.db() as db:
            made = register(acting(db, services), identifiers, password)
            if confirmed:
                users.confirm(acting(db), made)
        return made

    def token(self, keys, status=200, **form):
        """POST /v1/oauth/token."""
        return self.http.post("/v1/oauth/token", keys.form(**form), status=status)

    def login(self, keys, username="ann@example.com", password=PASSWORD, status=200, **form):
        """The password grant; the answer's JSON."""
        form = {"grant_type": "password", "username": username, "password": password, **form}
        return self.token(keys, status, **form).json

    def try_login(
        self, keys, password="not this one", *, username="ann@example.com", address="192.0.2.1",
        **headers,
    ):  # fmt: skip
        """The password grant from some address, with whatever answer."""
        form = keys.form(grant_type="password", username=username, password=password)
        environ = {"REMOTE_ADDR": address}
        return self.http.post(
            "/v1/oauth/token", form, headers=headers, extra_environ=environ, status="*"
        )

    def refresh(self, keys, refresh_token, status=200, **form):
        """The refresh token grant; the answer's JSON."""
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token, **form}
        return self.token(keys, status, **form).json

    def introspect(self, keys, token, status=200, **form):
        """POST /v1/oauth/introspect; the answer's JSON."""
        form = keys.form(token=token, **form)
        return self.http.post("/v1/oauth/introspect", form, status=status).json

    def revoke(self, keys, token, status=200, **form):
        """POST /v1/oauth/revoke."""
        form = keys.form(token=token, **form)
        return self.http.post("/v1/oauth/revoke", form, status=status)

    def me(self, access_token, status=200):
        """GET /v1/user."""
        return self.http.get("/v1/user", headers=bearer(access_token), status=status)

    def logout(self, access_token, status=200):
        """DELETE /v1/logout."""
        return self.http.delete("/v1/logout", headers=bearer(access_token), status=status)

    def families(self):
        """All family rows."""
        with self.db() as db:
            return db.scalars(select(Family).order_by(Family.created_at)).all()

    def events(self):
        """The names of all audit events, oldest first."""
        with self.db() as db:
            return db.scalars(select(AuditEvent.event).order_by(AuditEvent.id)).all()

    def reset_token(self, user, lifetime=None):
        """A token as a mailed reset link carries it, for the user as they are now."""
        expires = clock.now() + (lifetime or self.cfg.reset_expires_in)
        with self.db() as db:
            now = db.get(User, user.id)
            ring = self.app.registry["authsite"].keys[reset_tokens.PURPOSE]
            return reset_tokens.make(ring, now, expires)

    def mails(self):
        """Send what waits in the outbox; the mails since the last call, oldest first."""
        mails.send_all(self.app.registry)
        return mails.read_folder(self.cfg.mail_folder)


def bearer(access_token):
    """The header that carries an access token."""
    return {"Authorization": f"Bearer {access_token}"}
