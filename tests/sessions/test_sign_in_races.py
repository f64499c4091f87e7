"""A request whose sign-in ends while it is being answered (finding H1)."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from authsite.oauth.models import Family
from authsite.platform.mail.outbox import OutboxMessage
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.support.locks import until_blocked
from tests.support.pages import csrf_of, sign_in
from tests.support.site import PASSWORD, bearer

NEW = "purple wolf 77 tea"

FORMS = {
    "/account/sessions/end-others": {},
    "/account/password": {"current_password": PASSWORD, "password": NEW},
    "/account/email": {"email": "eve@example.org", "current_password": PASSWORD},
    "/account/profile": {"name": "Eve"},
    "/account/delete": {"current_password": PASSWORD},
}
CALLS = {
    "PUT /v1/user/password": {"current_password": PASSWORD, "password": NEW},
    "PUT /v1/user/email": {"email": "eve@example.org", "current_password": PASSWORD},
    "PATCH /v1/user": {"name": "Eve"},
    "DELETE /v1/user": {"current_password": PASSWORD},
}


@pytest.fixture
def ann(site):
    site.user(confirmed=True)
    return site


def ended_meanwhile(site, request):
    """The answer to ``request``, whose guard sees the user before the epoch was raised."""
    with ThreadPoolExecutor(1) as pool:
        with Session(site.database.transactional) as db, db.begin():
            db.execute(update(User).values(epoch=User.epoch + 1))
            with until_blocked(site.database):  # past the guard and the hashes
                answer = pool.submit(request)
            assert not answer.done()
        return answer.result()


def nothing_happened(site):
    with site.db() as db:
        user = db.query(User).one()
        assert (user.email, user.name, user.epoch) == ("ann@example.com", None, 1)
        assert (user.pending_email, user.recovery_version) == (None, 0)
        assert set(db.scalars(select(BrowserSession.user_epoch))) <= {0}
        assert set(db.scalars(select(Family.user_epoch))) <= {0}
        assert db.query(OutboxMessage).all() == []
    site.login(site.client())  # the password is the one before


@pytest.mark.both_databases
@pytest.mark.parametrize("path", FORMS)
def test_a_form_cannot_revive_a_session_that_was_ended(ann, path):
    """H1: the page leads to the login page, and nothing was changed."""
    sign_in(ann)
    form = {"csrf_token": csrf_of(ann.http.get("/account")), **FORMS[path]}
    answer = ended_meanwhile(ann, lambda: ann.http.post(path, form, status="*"))
    assert answer.status_int == 303
    assert answer.headers["Location"].startswith("http://localhost/login?next=")
    assert "/login" in ann.http.get("/account", status=302).headers["Location"]
    nothing_happened(ann)


@pytest.mark.both_databases
@pytest.mark.parametrize("call", CALLS)
def test_a_call_cannot_revive_a_token_that_was_ended(ann, call):
    """H1: the answer is that of the guard, and nothing was changed."""
    method, path = call.split()
    headers = bearer(ann.login(ann.client())["access_token"])
    send = getattr(ann.http, f"{method.lower()}_json")
    answer = ended_meanwhile(ann, lambda: send(path, CALLS[call], headers=headers, status="*"))
    assert answer.status_int == 401
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]
    assert answer.json["errors"] == []
    ann.http.get("/v1/user", headers=headers, status=401)
    nothing_happened(ann)


def test_a_token_whose_family_was_ended_in_the_same_moment_stays_ended(ann):
    """H1: a password change keeps only a family that still has the epoch of the guard."""
    keys = ann.client()
    token = ann.login(keys)["access_token"]
    with ann.db() as db:
        db.execute(update(Family).values(user_epoch=-1))
        db.execute(update(User).values(epoch=-1))
    ann.me(token)
    with ThreadPoolExecutor(1) as pool:
        body = CALLS["PUT /v1/user/password"]
        with Session(ann.database.transactional) as db, db.begin():
            db.execute(update(Family).values(user_epoch=-2))
            with until_blocked(ann.database):
                answer = pool.submit(
                    ann.http.put_json, "/v1/user/password", body, headers=bearer(token)
                )
        assert answer.result().status_int == 200
    ann.me(token, status=401)
