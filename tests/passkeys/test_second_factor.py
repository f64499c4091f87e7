"""A passkey after the password: the options and the challenge are those of the pending login."""

import json

import pytest
from sqlalchemy import select, update

from authsite.sign_in import gate
from authsite.sign_in.credentials import amr_of
from authsite.sign_in.methods.passkeys import assertion, registration
from authsite.sign_in.methods.passkeys.failures import PasskeyFailure, Refused
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.sign_in.pending import MAX_LENGTH, PendingLogin
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.support import pages
from tests.support.authenticator import Authenticator, text_of
from tests.support.site import PASSWORD

from .passkey_users import context, pending_of, post, register, sign_in_options


@pytest.fixture
def ann(site):
    user = site.user(confirmed=True)
    with site.db() as db:
        asked = {"second_factor_at": user.created_at, "passkey_after_password": True}
        db.execute(update(User).where(User.id == user.id).values(asked))
    return user


def give_password(site, name="ann@example.com"):
    """The key of the pending login."""
    answer = pages.submit(site, "/login", username=name, password=PASSWORD)
    assert answer.headers["Location"] == "http://localhost/login/factor"
    return site.http.cookies["authsite-login"]


def pending_options(site, key):
    with site.db() as db:
        ctx = context(site, db)
        return assertion.pending_options(ctx, gate.find_pending(ctx, key))


def resume(site, key, credential):
    """Give the passkey on the page; "signed in", or the code of its error."""
    site.http.reset()
    site.http.set_cookie("authsite-login", key)
    page = site.http.get("/login/factor?method=passkey")
    form = {"csrf_token": pages.csrf_of(page), "method": "passkey"}
    answer = site.http.post(
        "/login/factor", {**form, "credential": json.dumps(credential)}, status="*"
    )
    if answer.status_int == 303:
        assert answer.headers["Location"] == "http://localhost/account"
        return "signed in"
    assert answer.status_int == 422
    return "wrong"


def test_the_options_are_for_the_passkeys_of_the_user(site, ann):
    own = register(site, ann)
    found = pending_options(site, give_password(site))
    assert found["userVerification"] == "preferred"
    assert found["allowCredentials"] == [
        {"type": "public-key", "id": text_of(own.id), "transports": ["hybrid", "internal"]}
    ]


@pytest.mark.parametrize(
    ("unverified", "amr"), [(True, ("pwd", "pop")), (False, ("pwd", "pop", "user"))]
)
def test_it_need_not_verify_the_user(site, ann, unverified, amr):
    own = register(site, ann)
    key = give_password(site)
    credential = own.get(pending_options(site, key), unverified=unverified)
    assert resume(site, key, credential) == "signed in"
    with site.db() as db:
        assert amr_of(db.query(BrowserSession).one().facts) == amr
        assert db.query(PendingLogin).count() == 0


@pytest.mark.parametrize(
    "wrong",
    [{"origin": "null"}, {"rp_id": "evil.com"}, {"flip": 1}, {"signer": Authenticator().key},
     {"handle": text_of(b"x" * 32)}, {"synced": False}],
)  # fmt: skip
def test_wrong_ones_are_counted_and_the_fifth_ends_the_pending_login(site, ann, wrong):
    own = register(site, ann)
    key = give_password(site)
    for _ in range(5):
        assert resume(site, key, own.get(pending_options(site, key), **wrong)) == "wrong"
    with pytest.raises(gate.PendingEnded), site.db() as db:
        gate.find_pending(context(site, db), key)
    assert site.events().count("factor.failed") == 5
    assert len(key) <= MAX_LENGTH


def test_the_passkey_of_another_user_is_wrong(site, ann):
    register(site, ann)
    bob = site.user("bob@example.com", confirmed=True)
    others = register(site, bob)
    key = give_password(site)
    options = pending_options(site, key)
    for handle in (others.handle, None):
        assert resume(site, key, others.get(options, handle=handle)) == "wrong"


def test_the_challenge_of_another_pending_login_is_wrong(site, ann):
    own = register(site, ann)
    first = give_password(site)
    options = pending_options(site, first)
    second = give_password(site)
    assert resume(site, second, own.get(options)) == "wrong"
    assert resume(site, first, own.get(options)) == "signed in"


def test_a_challenge_of_the_login_page_is_no_second_factor(site, ann):
    own = register(site, ann)
    key = give_password(site)
    assert resume(site, key, own.get(sign_in_options(site))) == "wrong"


def test_a_challenge_of_a_second_factor_does_not_sign_in_alone(site, ann):
    own = register(site, ann)
    key = give_password(site)
    credential = json.dumps(own.get(pending_options(site, key)))
    assert post(site, credential).status_int == 422


def test_without_passkeys_it_is_not_offered(site, ann):
    with site.db() as db:
        ctx = context(site, db)
        account = gate.find_pending(ctx, give_password(site)).account
        assert not assertion.is_offered(ctx, account)
        assert assertion.is_offered(ctx, None)


def test_a_passkey_of_another_domain_is_not_offered(site, ann):
    from authsite.sign_in.methods.passkeys.stored import Passkey

    own = register(site, ann)
    key = give_password(site)
    options = pending_options(site, key)
    with site.db() as db:
        db.execute(update(Passkey).values(rp_id="old.example"))
    assert pending_options(site, key) is None
    given = {"credential": json.dumps(own.get(options))}
    with pytest.raises(gate.PendingEnded), site.db() as db:
        gate.resume(context(site, db), key, "passkey", given)
    assert post(site, json.dumps(own.get(sign_in_options(site)))).status_int == 422


def test_a_step_up_takes_the_challenge_of_its_session_alone(site, ann):
    from uuid import uuid4

    own, here, there = register(site, ann), uuid4(), uuid4()
    with site.db() as db:
        ctx = context(site, db)
        party = assertion.relying_party(ctx.settings)
        from authsite.users.account import account_of

        account = account_of(db.get(User, ann.id))
        options = assertion.options(ctx, registration.of_pending(here), account)
        text = json.dumps(own.get(options))
        other = account._replace(id=uuid4())
        for pending, failure in (
            (pending_of(account, there), PasskeyFailure.CHALLENGE),
            (pending_of(other, here), PasskeyFailure.OTHER_USER),
        ):
            assert assertion.check(ctx, party, text, pending) == Refused(failure)
    with site.db() as db:
        used = assertion.check(context(site, db), party, text, pending_of(account, here))
        assert used.user_verified


def test_it_unlocks_an_authenticator_app(site, ann):
    own = register(site, ann)
    with site.db() as db:
        db.add(
            TotpFactor(
                id=ann.id, user_id=ann.id, secret="x", digits=6, period=30, algorithm="SHA1",
                last_step=0, failures=100, created_at=ann.created_at,
            )
        )  # fmt: skip
    key = give_password(site)
    assert resume(site, key, own.get(pending_options(site, key))) == "signed in"
    with site.db() as db:
        assert db.scalar(select(TotpFactor.failures)) == 0
