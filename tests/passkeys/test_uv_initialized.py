"""User verification counts from the registration on, or from a use beside another proof.

The finder of a security key without a PIN can set one (Web Authentication Level 3, section 4,
credential record).
"""

import json

import pytest
from sqlalchemy import select, update

from authsite.platform.audit.models import AuditEvent
from authsite.sign_in.credentials import amr_of
from authsite.sign_in.methods.passkeys import assertion, registration
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.account import account_of
from authsite.users.models import User
from tests.step_up.people import asked_at, enter, routes, use_passkey
from tests.support.pages import csrf_of
from tests.support.site import PASSWORD

from .passkey_users import (
    context,
    is_signed_in,
    pending_of,
    register,
    rows,
    sign_in,
)
from .test_second_factor import give_password, pending_options

pytestmark = pytest.mark.both_databases


@pytest.fixture
def ann(site):
    return site.user(confirmed=True)


def asked_after_password(site, user):
    with site.db() as db:
        asked = {"second_factor_at": user.created_at, "passkey_after_password": True}
        db.execute(update(User).where(User.id == user.id).values(asked))


def initialized(site):
    [row] = rows(site)
    return row.uv_initialized


def amrs(site):
    with site.db() as db:
        order = BrowserSession.used_at
        return [amr_of(each.facts) for each in db.scalars(select(BrowserSession).order_by(order))]


def second_step(site, own, **wrong):
    """The password, and then the passkey."""
    key = give_password(site)
    credential = json.dumps(own.get(pending_options(site, key), **wrong))
    page = site.http.get("/login/factor")
    given = {"csrf_token": csrf_of(page), "method": "passkey", "credential": credential}
    return site.http.post("/login/factor", given, status="*")


def test_a_key_that_verified_its_user_when_it_was_registered_signs_in_alone(site, ann):
    own = register(site, ann)
    assert initialized(site)
    assert sign_in(site, own).status_int == 303


def test_a_key_without_a_pin_does_not_sign_in_alone_once_its_finder_has_set_one(site, ann):
    own = register(site, ann, unverified=True)
    assert not initialized(site)
    for _ in range(2):
        assert sign_in(site, own).status_int == 422
    assert not is_signed_in(site)
    assert not initialized(site)
    with site.db() as db:
        event = db.scalars(select(AuditEvent).where(AuditEvent.event == "login.failed")).first()
    assert event.details == {"reason": "wrong_passkey", "check": "uv_not_initialized"}


def test_after_the_password_it_is_a_second_factor_and_from_then_on_signs_in_alone(site, ann):
    own = register(site, ann, unverified=True)
    asked_after_password(site, ann)
    assert second_step(site, own).status_int == 303
    assert initialized(site)
    assert amrs(site) == [("pwd", "pop")]  # in this use the verification does not count yet
    site.new_browser()
    assert sign_in(site, own).status_int == 303
    assert amrs(site)[-1] == ("pop", "user")


def test_a_use_without_verification_changes_nothing(site, ann):
    own = register(site, ann, unverified=True)
    asked_after_password(site, ann)
    assert second_step(site, own, unverified=True).status_int == 303
    assert not initialized(site)
    site.new_browser()
    assert sign_in(site, own).status_int == 422


def test_a_use_that_is_refused_changes_nothing(site, ann):
    own = register(site, ann, unverified=True)
    asked_after_password(site, ann)
    assert second_step(site, own, origin="https://evil.example").status_int == 422
    assert not initialized(site)


@pytest.mark.parametrize(
    ("amr", "beside", "counts"),
    [
        (("pwd",), None, True),
        (("idp",), None, True),  # so is the mailed link after a provider
        (("email",), None, True),
        ((), None, False),
        (("device",), None, False),
        (("pwd",), ("pwd",), True),  # a step-up with the password
        (("pwd",), (), False),  # a step-up with the passkey alone: only the session knows more
        (("idp",), (), False),
        (("email",), (), False),
    ],
)
def test_what_must_stand_beside_it(site, ann, amr, beside, counts):
    own = register(site, ann, unverified=True)
    with site.db() as db:
        ctx, account = context(site, db), account_of(db.get(User, ann.id))
        party = assertion.relying_party(ctx.settings)
        pending = pending_of(account, ann.id, amr, beside)
        found = assertion.options(ctx, registration.of_pending(pending.id), account)
    with site.db() as db:
        ctx = context(site, db)
        used = assertion.check(ctx, party, json.dumps(own.get(found)), pending)
    assert not used.user_verified
    assert initialized(site) is counts


def test_at_a_step_up_it_is_not_everything_and_counts_beside_the_password(host_with):
    site = host_with(routes)
    ann = site.ann = site.user(confirmed=True)
    own = register(site, ann, unverified=True)
    enter(site, "pwd")
    use_passkey(asked_at(site, "/passkey"), own)
    assert amrs(site) == [("pwd", "pop")]
    assert not initialized(site)
    again = "/login/verify?max_age=0&acr=phr&next=/passkey"
    page = use_passkey(site.http.get(again), own, 422)  # alone it is not everything
    assert not initialized(site)
    page = use_passkey(page, own, 422, current_password="not this one")
    assert not initialized(site)
    use_passkey(page, own, current_password=PASSWORD)
    assert initialized(site)
    assert amrs(site) == [("pwd", "pop")]
    use_passkey(site.http.get(again), own)
    assert amrs(site) == [("pop", "user")]
