"""Requests to the application in this process, without a test library in between: many a second."""

import json
import re
from base64 import urlsafe_b64decode
from collections import Counter
from dataclasses import replace
from threading import Event
from types import SimpleNamespace
from urllib.parse import parse_qs, quote, urlencode, urlsplit
from uuid import UUID, uuid4

from sqlalchemy import text
from webob import Request

from authsite.oauth.clients import service as clients
from authsite.platform.mail.sender import open_sender, send_batch
from authsite.platform.runtime import clock
from authsite.platform.settings.rate_limits import RATE_LIMITS
from authsite.recovery import service as reset_tokens
from authsite.sign_in.sessions.service import key_hash
from authsite.users import service as users
from authsite.users.models import User
from authsite.verification import links
from tests.support import databases, quick_bcrypt
from tests.support.acting import acting
from tests.support.databases import migrated, new_url
from tests.support.frozen import FrozenClock
from tests.support.mails import text_of
from tests.support.site import Site

from .things import INTRUDER, OWNER

BASE = "http://localhost"
# Of each person; an unauthenticated caller has another one.
PEERS = {OWNER: "192.0.2.1", INTRUDER: "203.0.113.9", None: "198.51.100.7"}
SEED = "0123456789abcdef0123"
HIGH = "100000/minute"
# The limits that the model counts, too.
COUNTED = {"login-account", "reauthentication", "forgot-email", "verification-email"}
SETTINGS = {
    "limits": "on",
    "limits_storage": "memory",
    "email_revert_min_age": "0s",
    "expires_in": "10m",
    "refresh_expires_in": "1d",
    "refresh_grace": "10s",
    "scopes": "a: A\nb: B",
    "personal_token_scopes": "a",
    **{f"limits.{name}": HIGH for name in RATE_LIMITS.keys() - COUNTED},
}
_LINK = re.compile(r"^https?://[^/\s]+((/\S+)/(\S+))$", re.MULTILINE)
KINDS = {
    "/email/verify": "verify",
    "/email/change/cancel": "cancel",
    "/email/change/revert": "revert",
    "/password/reset": "reset",
    "/login/not-me": "not-me",
}
_SECRET = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:at|rt|pat)_[\w-]+|[0-9a-f]{64}|token=[\w.-]+"
    r"|[\w-]{40,}"
)
_CSRF = re.compile(r'name="csrf_token"[^>]*value="([0-9a-f]+)"')
_COUNTS = text(
    "SELECT event AS name, count(*) AS number FROM audit_events GROUP BY event"
    " UNION ALL SELECT '', count(*) FROM families"
)


class Driver:
    """One application on a separate database, with a clock that stands still."""

    def __init__(self, backend, folder, **settings):
        quick_bcrypt.use(True)
        url = migrated(new_url(backend, folder, f"attacks_{uuid4().hex}"))
        self.site = Site(url, **SETTINGS | settings)
        self.services = self.site.app.registry["authsite"]
        self.frozen, self._mails = FrozenClock(), []
        self.transcript = None  # a list that every request and its response are added to
        self._sender = replace(
            open_sender(self.services), transport=lambda mail, _before: self._mails.append(mail)
        )
        self._real_now = clock.now

    def begin(self):
        """Empty the database, and stop the clock."""
        databases.empty(self.site.database)
        if self.services.rate_limits:
            self.services.rate_limits.storage.reset()
        self._csrf, self._mails[:] = {}, []
        self.frozen = FrozenClock()
        clock.now = self.frozen.now

    def end(self):
        """Let the clock go again."""
        clock.now = self._real_now

    @property
    def now(self):
        return self.frozen.at

    # Requests

    def send(self, method, path, *, person=None, token=None, cookie=None, body=None, form=None):
        """The response; ``body`` is sent as JSON, ``form`` as a form."""
        request = Request.blank(path, base_url=BASE, method=method)
        request.environ["REMOTE_ADDR"] = PEERS.get(person, person)
        if token is not None:
            request.environ["HTTP_AUTHORIZATION"] = f"Bearer {token}"
        if cookie is not None:
            request.environ["HTTP_COOKIE"] = cookie
        if body is not None:
            request.content_type, request.body = "application/json", json.dumps(body).encode()
        elif form is not None:
            request.content_type = "application/x-www-form-urlencoded"
            request.body = urlencode(form).encode()
        response = request.get_response(self.site.app)
        assert response.status_int < 500, f"{method} {path}: {response.text}"
        if self.transcript is not None:
            self.transcript.append(
                (method, plain(path), response.status, plain(response.headers.get("Location", "")),
                 plain(response.text))
            )  # fmt: skip
        return response

    def submit(self, path, fields, *, person, key=None):
        """Send a form of our pages, with the session of the cookie ``key``."""
        cookie = f"authsite-csrf={SEED}" + (f"; authsite={key}" if key else "")
        if key not in self._csrf:
            shown = self.send("GET", "/email/link", cookie=cookie)
            self._csrf[key] = _CSRF.search(shown.text)[1]
        form = {"csrf_token": self._csrf[key], **fields}
        return self.send("POST", path, person=person, cookie=cookie, form=form)

    def token(self, client, *, person=None, **form):
        """POST /v1/oauth/token."""
        form = {"client_id": client.id, "client_secret": client.secret, **form}
        return self.send("POST", "/v1/oauth/token", person=person, form=form)

    def is_active(self, client, token):
        """What introspection says."""
        form = {"client_id": client.id, "client_secret": client.secret, "token": token}
        return self.send("POST", "/v1/oauth/introspect", form=form).json["active"]

    # What requests do not do

    def act(self, work, user_id):
        """Run ``work(context, user)`` as an administrator's command does."""
        with self.site.db() as db:
            work(acting(db, self.services, base_urls=(BASE,)), db.get(User, UUID(user_id)))

    def set_client(self, id_, *, enabled):
        """Enable or disable a client."""
        with self.site.db() as db:
            if enabled:
                clients.enable(acting(db), db.get(clients.Client, UUID(id_)))
            else:
                clients.disable(acting(db), UUID(id_))

    def set_password(self, user_id, password):
        """What `authsite user set-password` does."""
        hashed = self.services.passwords.hash(password)
        self.act(lambda ctx, user: users.set_password(ctx, user.id, hashed), user_id)

    def mails(self):
        """Send what waits; [(address, kind of mail, {kind of link: path and query})]."""
        while send_batch(self._sender, Event(), Counter()):
            pass
        # Those of one moment have no order.
        sent = sorted(self._mails, key=lambda mail: (mail.recipient, mail.kind))
        self._mails.clear()
        return [(mail.recipient, mail.kind, self._links(mail)) for mail in sent]

    def _links(self, mail):
        """The links of a mail by kind, in the long form: a path and a query."""
        found = _LINK.findall(text_of(mail.message))
        return {
            KINDS[path]: self._long(KINDS[path], path, token, mail.recipient)
            for _, path, token in found
            if path in KINDS
        }

    def _long(self, kind, path, token, recipient):
        if kind == "verify":
            ctx = SimpleNamespace(services=self.services)
            link = links.read_token(ctx, token)
            signed = links.signed_url(self.services.keys[links.PURPOSE], "", link)
            return page_of(signed)
        if kind == "reset":
            return f"{path}?email={quote(recipient)}&token={reset_tokens.split_link(token)[1]}"
        return f"{path}?token={token}"

    def counts(self):
        """How many rows the audit trail has of each event, and how many families there are."""
        with self.site.database.autocommit.connect() as connection:
            rows = Counter(dict(connection.execute(_COUNTS).all()))
        return rows, rows.pop("")

    def session_id(self, key):
        """The id of the session with this cookie."""
        with self.site.database.autocommit.connect() as connection:
            found = connection.execute(
                text("SELECT id FROM web_sessions WHERE key_hash = :hash"), {"hash": key_hash(key)}
            )
            return str(UUID(str(found.scalar_one())))


def plain(text):
    """``text`` without ids, tokens and signatures."""
    return _SECRET.sub("…", text)


def family_id(token):
    """The id of its family, with which a token begins."""
    return str(UUID(bytes=urlsafe_b64decode(token.partition("_")[2])[:16]))


def cookie_of(response, name="authsite"):
    """The value of a cookie that the response sets, or None."""
    for header in response.headers.getall("Set-Cookie"):
        if header.startswith(f"{name}="):
            return header.partition("=")[2].partition(";")[0]
    return None


def signed_url(url):
    """The signed URL of a ``verify`` link, as path and query."""
    return parse_qs(urlsplit(url).query)["url"][0].removeprefix(BASE)


def page_of(signed):
    """The page that leads to a signed URL."""
    return f"/email/verify?url={quote(BASE + signed, safe='')}"
