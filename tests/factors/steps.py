"""A site whose two routes are the two steps of a sign-in, and a user with second factors."""

from datetime import timedelta

import pyotp
from pyramid.security import NO_PERMISSION_REQUIRED
from sqlalchemy import select, update

from authsite.oauth.models import Family
from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from authsite.sign_in import gate
from authsite.sign_in import pending as pending_logins
from authsite.sign_in.credentials import pack
from authsite.sign_in.factors import enrolling
from authsite.sign_in.method import Pending, Target, Wrong
from authsite.users.models import User
from tests.support.site import PASSWORD, bearer

NOTHING = {
    "second_factor": False,
    "after_password": False,
    "totp": None,
    "passkeys": [],
    "recovery_codes": None,
    "remembered_browsers": 0,
}
"""The factors of a user who has none."""


def first(request):
    """Give the password: what the gate asks for next, and the key for it."""
    ctx, given = request.authsite.ctx, request.json_body
    target = Target(remembered=given.pop("remembered", None))
    outcome = gate.sign_in(ctx, "password", given, target)
    if isinstance(outcome, Pending):
        pending_logins.store(ctx, outcome)
        return {"key": outcome.key, "methods": outcome.methods, "enroll": outcome.enroll}
    return {"amr": outcome.amr if outcome else None}


def second(request):
    """Give a second factor: what the gate says."""
    ctx, given = request.authsite.ctx, request.json_body
    key, method = given.pop("key"), given.pop("method")
    try:
        pending = gate.find_pending(ctx, key)
        outcome = gate.resume(ctx, key, method, given)
        if isinstance(outcome, Wrong):
            return {"wrong": outcome.code}
        if isinstance(outcome, Pending):
            return {"methods": outcome.methods, "enroll": outcome.enroll}
        if pending.enroll:
            outcome, codes = enrolling.store_totp(ctx, pending, outcome, given)
            return {"amr": outcome.amr, "codes": codes, "epoch": outcome.account.epoch}
        return {"amr": outcome.amr}
    except gate.PendingEnded:
        request.response.status_int = 410
        return {}


def begin(request):
    """Begin to add an authenticator app at a sign-in."""
    ctx = request.authsite.ctx
    try:
        pending = gate.find_pending(ctx, request.json_body["key"])
        return enrolling.begin_totp(ctx, pending)._asdict()
    except gate.PendingEnded:
        request.response.status_int = 410
        return {}


def add_steps(config):
    """What ``build`` of `host_with` does."""
    for view in (first, second, begin):
        config.add_route(view.__name__, f"/{view.__name__}")
        config.add_view(
            view,
            route_name=view.__name__,
            request_method="POST",
            renderer="json",
            permission=NO_PERMISSION_REQUIRED,
        )


class Person:
    """A user of the API, who has signed in with the password.

    Their browser is known well enough to add a first factor without a mailed code, unless
    ``known`` is false.
    """

    def __init__(self, site, email="ann@example.com", *, known=True, confirmed=True):
        self.site, self.email = site, email
        self.id = site.user(email, confirmed=confirmed).id
        self.keys = site.client(name=email)
        self.login()
        if known:
            self.be_known()

    def login(self):
        """Sign in with the password alone."""
        self.headers = bearer(self.site.login(self.keys, self.email)["access_token"])

    def be_known(self, days=8):
        """The browser of every sign-in was recognized so long ago."""
        since = clock.now() - timedelta(days=days)
        with self.site.db() as db:
            db.execute(update(Family).values(recognized=since))
            db.execute(update(User).values(email_verified_at=since - timedelta(days=1)))

    def call(self, method, path, status=200, **body):
        """A call of the API, by default with the password; the JSON of the answer."""
        send = getattr(self.site.http, f"{method}_json")
        body = {"current_password": PASSWORD, **body}
        answer = send(f"/v1/user/{path}", body, headers=self.headers, status=status)
        return answer.json if answer.body else None

    def begin(self, status=200, **body):
        """POST totp."""
        return self.call("post", "totp", status, **body)

    def begin_refused(self, status):
        """POST totp without a code; the header that says what is missing."""
        body = {"current_password": PASSWORD}
        answer = self.site.http.post_json(
            "/v1/user/totp", body, headers=self.headers, status=status
        )
        return answer.headers["WWW-Authenticate"]

    def prove(self, amr=("pwd", "otp"), minutes=0):
        """The sign-ins were proved so, this number of minutes ago."""
        at = clock.now() - timedelta(minutes=minutes)
        with self.site.db() as db:
            of_user = update(Family).where(Family.user_id == self.id)
            db.execute(of_user.values(facts=pack(amr), auth_at=at))

    def confirm(self, begun, status=200, code=None, **body):
        """POST totp/confirm, by default with the present code."""
        body["code"] = code or self.code(begun["secret"])
        return self.call("post", "totp/confirm", status, enrollment=begun["enrollment"], **body)

    def enroll(self):
        """Add an authenticator app; what the API answers."""
        begun = self.begin()
        self.secret = begun["secret"]
        return self.confirm(begun)

    def code(self, secret=None, after=0):
        """The code of the app ``after`` this number of seconds."""
        moment = clock.now() + timedelta(seconds=after)
        return pyotp.TOTP(secret or self.secret).at(moment)

    def factors(self):
        """GET factors."""
        return self.site.http.get("/v1/user/factors", headers=self.headers).json

    def password(self, **more):
        """The first step of a sign-in."""
        given = {"username": self.email, "password": PASSWORD, **more}
        return self.site.http.post_json("/first", given).json

    def second(self, code, method="totp", key=None, status=200, **more):
        """Both steps of a sign-in, or the second one of ``key``."""
        given = {"key": key or self.password()["key"], "method": method, "code": code, **more}
        return self.site.http.post_json("/second", given, status=status).json

    def row(self):
        """The row of the user."""
        with self.site.db() as db:
            return db.get(User, self.id)

    def stored(self, model):
        """The user's rows of one table."""
        with self.site.db() as db:
            return db.scalars(select(model).where(model.user_id == self.id)).all()


def details(person, event):
    """What the audit rows of this event tell."""
    with person.site.db() as db:
        return list(db.scalars(select(AuditEvent.details).where(AuditEvent.event == event)))
