"""A site whose codes by mail are typed at a route of these tests."""

import re

import pytest
from pyramid.security import NO_PERMISSION_REQUIRED
from sqlalchemy import select

from authsite.platform.audit.models import AuditEvent
from authsite.sign_in import gate
from authsite.sign_in.credentials import amr_of
from authsite.sign_in.method import Wrong
from authsite.sign_in.pages import lead_in
from authsite.sign_in.pending import PendingLogin, read_key
from authsite.sign_in.sessions import cookies, service
from authsite.sign_in.sessions.models import BrowserSession
from tests.support.mails import text_of
from tests.support.pages import submit

COOKIE = "authsite-login"
CODE = re.compile(r"^ {4}([BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4})$", re.MULTILINE)


def answer(request):
    """The view of the second step, in short."""
    ctx, former = request.authsite.ctx, cookies.session_key(request)
    given = {"code": request.POST["code"]}
    try:
        done = service.resume(ctx, read_key(request), "email", given, former_key=former)
    except gate.PendingEnded:
        request.response.status_int = 410
        return request.response
    if isinstance(done, Wrong):
        request.response.status_int = 422
        return request.response
    return lead_in(request, done)


def add_step(config):
    """A route that takes a code, without words."""
    config.add_route("prove", "/prove")
    config.add_view(
        answer, route_name="prove", request_method="POST", permission=NO_PERMISSION_REQUIRED
    )


@pytest.fixture
def by_mail(host_with):
    """A factory of sites at which Ann can sign in by mail."""

    def made(build=add_step, confirmed=True, **settings):
        site = host_with(build, **{"email_sign_in": "on", "limits": "on", **settings})
        site.ann = site.user(confirmed=confirmed)
        return site

    return made


def request_code(site, username="ann@example.com", **fields):
    """Ask for a code; the answer leads to the page that takes it."""
    answered = submit(site, "/login/email", page="/login", username=username, **fields)
    assert answered.status_int == 303, answered.text
    assert answered.headers["Location"] == "http://localhost/login/factor"
    return answered


def code_in(mail):
    """The code, which stands alone on its line."""
    return CODE.search(text_of(mail))[1]


def plant(site, key):
    """A new browser with the cookie of this pending login."""
    site.new_browser()
    site.http.set_cookie(COOKIE, key)


def prove(site, code):
    """Type a code; the answer."""
    return site.http.post("/prove", {"code": code}, status="*")


def rows(site, model=PendingLogin):
    with site.db() as db:
        return db.scalars(select(model)).all()


def amrs(site):
    """How the sessions began."""
    return [amr_of(row.facts) for row in rows(site, BrowserSession)]


def failures(site):
    """What was recorded of wrong codes: whose, and the details."""
    with site.db() as db:
        failed = select(AuditEvent).where(AuditEvent.event == "factor.failed")
        return [(row.user_id, row.details) for row in db.scalars(failed)]
