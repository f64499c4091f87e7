"""Sign in with a passkey alone, at the login page."""

import json
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from sqlalchemy import select, update

from authsite.platform.audit.models import AuditEvent
from authsite.platform.single_use import UsedId
from authsite.sign_in.credentials import amr_of
from authsite.sign_in.methods.passkeys import assertion, registration
from authsite.sign_in.methods.passkeys.failures import Refused
from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.account import account_of
from authsite.users.models import User
from tests.support.authenticator import BE, BS, UP, UV, Authenticator, Ec2, Okp, Rsa, text_of

from .passkey_users import (
    context,
    is_signed_in,
    pending_of,
    post,
    register,
    rows,
    sign_in,
    sign_in_options,
)


@pytest.fixture
def ann(site):
    return site.user(confirmed=True)


def refused(site, answer):
    assert answer.status_int == 422
    assert not is_signed_in(site)
    return answer


@pytest.mark.both_databases
@pytest.mark.parametrize("key", [Ec2, Okp, Rsa])
def test_a_passkey_that_verifies_the_user_signs_in_alone(site, ann, key):
    own = register(site, ann, Authenticator(key()))
    answer = sign_in(site, own)
    assert answer.status_int == 303
    assert answer.headers["Location"] == "http://localhost/account"
    assert is_signed_in(site)
    with site.db() as db:
        session = db.query(BrowserSession).one()
        assert session.user_id == ann.id
        assert amr_of(session.facts) == ("pop", "user")
        assert db.query(UsedId).count() == 2  # of the registration, and of the sign-in
        assert db.query(Passkey).one().used_at is not None


def test_the_page_offers_passkeys_in_the_field_for_the_name(site):
    page = site.http.get("/login")
    assert 'autocomplete="username webauthn"' in page.text
    assert 'passkey.js"' in page.text
    form = page.forms["passkey"]
    assert form.action == "/login/passkey"
    options = sign_in_options(site)
    assert set(options) == {"challenge", "timeout", "rpId", "userVerification"}
    assert options["rpId"] == "localhost"
    assert options["userVerification"] == "required"


def test_options_store_nothing_before_a_success(site, ann):
    own = register(site, ann)
    with site.db() as db:
        before = db.query(UsedId).count()
    for _ in range(3):
        sign_in_options(site)
    refused(site, sign_in(site, own, origin="https://evil.example"))
    with site.db() as db:
        assert db.query(UsedId).count() == before


WRONG = {
    "another site": {"origin": "https://ours.evil.com"},
    "https": {"origin": "https://localhost"},
    "port": {"origin": "http://localhost:81"},
    "case": {"origin": "http://LOCALHOST"},
    "slash": {"origin": "http://localhost/"},
    "null": {"origin": "null"},
    "no origin": {"origin": None},
    "domain of a sibling": {"rp_id": "other.localhost"},
    "domain in capitals": {"rp_id": "Localhost"},
    "no user verification": {"unverified": True},
    "no user presence": {"flip": UP},
    "backup without eligibility": {"flip": BE},
    "no longer eligible": {"synced": False},
    "embedded": {"client_data": {"crossOrigin": True}},
    "embedded, as text": {"client_data": {"crossOrigin": "false"}},
    "top origin": {"client_data": {"topOrigin": "https://evil.example"}},
    "type of a registration": {"type": "webauthn.create"},
    "another signer": {"signer": Ec2()},
    "handle of another user": {"handle": text_of(bytes(32))},
    "handle is no text": {"handle": 7},
    "other raw id": {"raw_id": b"other"},
    "another type": {"credential": {"type": "password"}},
    "no response": {"credential": {"response": None}},
    "no signature": {"response": {"signature": None}},
    "empty signature": {"response": {"signature": ""}},
    "short data": {"response": {"authenticatorData": "AAAA"}},
    "client data is a list": {"raw_client_data": b"[]"},
    "client data is nothing": {"raw_client_data": b""},
    "challenge is a number": {"challenge": 5},
    "challenge is empty": {"challenge": ""},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_is_wrong_in_one_respect_is_refused(site, ann, wrong):
    own = register(site, ann)
    refused(site, sign_in(site, own, **wrong))
    assert sign_in(site, own).status_int == 303  # the right one still counts


@pytest.mark.parametrize("handle", ["", None])
def test_a_key_that_sends_no_user_handle_is_accepted(site, ann, handle):
    own = register(site, ann)
    assert sign_in(site, own, handle=handle).status_int == 303


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", "7", '"text"', "{", '{"id": 7}', '{"id": ""}', "[" * 9000,
     json.dumps({"id": "x" * 1401}), json.dumps({"id": "x", "fill": "y" * 17_000}),
     '{"id": "\\ud800"}', '{"id": "x", "response": {"clientDataJSON": "\\ud800"}}', "1" * 5000],
)  # fmt: skip
def test_malformed_text_is_refused(site, ann, text):
    register(site, ann)
    refused(site, post(site, text))


def test_a_challenge_counts_once(site, ann):
    own = register(site, ann)
    credential = json.dumps(own.get(sign_in_options(site)))
    assert post(site, credential).status_int == 303
    keep = dict(site.http.cookies)
    site.new_browser()
    site.http.set_cookie("authsite-csrf", keep["authsite-csrf"].strip('"'))
    refused(site, post(site, credential))


@pytest.mark.both_databases
def test_of_the_same_credential_twice_at_once_one_signs_in(site, ann):
    own = register(site, ann)
    services = site.app.registry["authsite"]
    with site.db() as db:
        pending = pending_of(account_of(db.get(User, ann.id)), uuid4())
        options = assertion.options(context(site, db), registration.of_pending(pending.id), None)
    text = json.dumps(own.get(options))

    def use(_):
        with site.db() as db:
            ctx = context(site, db)
            party = assertion.relying_party(services.settings)
            return not isinstance(assertion.check(ctx, party, text, pending), Refused)

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(use, range(4))) == [False, False, False, True]


def test_a_challenge_expires_after_ten_minutes(site, ann, frozen):
    own = register(site, ann)
    credential = json.dumps(own.get(sign_in_options(site)))
    frozen.advance(601)
    refused(site, post(site, credential))
    credential = json.dumps(own.get(sign_in_options(site)))
    frozen.advance(595)
    assert post(site, credential).status_int == 303


def test_a_challenge_is_of_the_browser_that_asked(site, ann):
    own = register(site, ann)
    options = sign_in_options(site)
    site.new_browser()
    refused(site, post(site, json.dumps(own.get(options))))


@pytest.mark.parametrize("bound", ["of_client", "of_pending"])
def test_a_challenge_of_another_purpose_does_not_sign_in(site, ann, bound):
    own = register(site, ann)
    with site.db() as db:
        found = assertion.options(context(site, db), getattr(registration, bound)(ann.id), None)
    refused(site, post(site, json.dumps(own.get(found))))


def test_unknown_wrong_and_disabled_get_the_same_answer(site, ann):
    own, unknown = register(site, ann), Authenticator()
    unknown.handle = own.handle

    def body(answer):
        refused(site, answer)
        text = answer.text
        for cookie in site.http.cookies.values():
            text = text.replace(cookie, "")
        return text

    wrong = body(sign_in(site, own, origin="http://evil.example"))
    assert body(sign_in(site, unknown)) == wrong
    with site.db() as db:
        db.execute(update(User).values(disabled_at=ann.created_at))
    assert body(sign_in(site, own)) == wrong
    with site.db() as db:
        reasons = [
            each.details["reason"]
            for each in db.scalars(
                select(AuditEvent).where(AuditEvent.event == "login.failed").order_by(AuditEvent.id)
            )
        ]
    assert reasons == ["wrong_passkey", "unknown_passkey", "disabled"]


def test_a_stolen_session_form_from_another_site_is_refused(site, ann):
    own = register(site, ann)
    credential = json.dumps(own.get(sign_in_options(site)))
    form = {"credential": credential, "csrf_token": "0" * 64}
    assert site.http.post("/login/passkey", form, status="*").status_int == 403
    assert not is_signed_in(site)


def test_stay_signed_in_and_the_next_page(site, ann):
    own = register(site, ann)
    credential = json.dumps(own.get(sign_in_options(site)))
    answer = post(site, credential, remember="true", next="/account/security")
    assert answer.headers["Location"] == "http://localhost/account/security"
    with site.db() as db:
        assert db.query(BrowserSession).one().remember is True


def test_a_counter_that_goes_back_is_a_copy_for_a_key_of_one_device(site, ann):
    own = register(site, ann, Authenticator(synced=False, counts=True))
    assert sign_in(site, own).status_int == 303
    site.new_browser()
    for counter in (2, 1, 0):
        refused(site, sign_in(site, own, counter=counter))
    assert site.events().count("passkey.cloned") == 3
    assert [each.sign_count for each in rows(site)] == [2]
    assert sign_in(site, own, counter=9).status_int == 303
    assert [each.sign_count for each in rows(site)] == [9]


def test_a_synced_passkey_has_no_common_counter(site, ann):
    own = register(site, ann, Authenticator(synced=True))
    for counter in (5, 3, 3, 0, 4):
        assert sign_in(site, own, counter=counter).status_int == 303
        site.new_browser()
    assert "passkey.cloned" not in site.events()


def test_a_key_without_counter_sends_zero_each_time(site, ann):
    own = register(site, ann, Authenticator(synced=False))
    for _ in range(3):
        assert sign_in(site, own).status_int == 303
        site.new_browser()


def test_the_backup_state_may_change(site, ann):
    own = register(site, ann)
    assert rows(site)[0].backed_up
    assert sign_in(site, own, flip=BS).status_int == 303
    assert not rows(site)[0].backed_up


def test_a_second_factor_is_not_asked_for_after_a_passkey(site, ann):
    """Also where the user has one: the passkey with user verification is two factors."""
    own = register(site, ann)
    with site.db() as db:
        db.execute(update(User).values(second_factor_at=ann.created_at))
    assert sign_in(site, own).headers["Location"] == "http://localhost/account"


def test_wrong_uses_are_counted_for_the_user_and_for_unknown_ids_alike(site_with):
    site = site_with(limits="on")
    user = site.user(confirmed=True)
    for own in (register(site, user), Authenticator()):
        site.new_browser()
        own.handle = None
        found = [sign_in(site, own, origin="null").status_int for _ in range(7)]
        assert found == [422] * 5 + [429] * 2
    assert UV  # the flag is set in each of them
