"""`/login/verify` with a passkey: everything if it has verified the user, else a second factor."""

from authsite.platform.runtime import clock
from tests.passkeys.passkey_users import register
from tests.support.pages import csrf_of
from tests.support.site import PASSWORD

from .people import (
    OURS,
    asked_at,
    enter,
    fields,
    proved,
    session,
    use_passkey,
)


def test_a_passkey_that_verified_the_user_is_everything(site, frozen):
    key = register(site, site.ann)
    enter(site, "pwd")
    frozen.advance(60)
    page = asked_at(site, "/passkey")
    assert fields(page) == {"credential"}
    assert use_passkey(page, key).location == f"{OURS}/passkey"
    assert proved(site) == (("pop", "user"), clock.now())


def test_a_passkey_without_verification_adds_to_the_password(site, frozen):
    key = register(site, site.ann)
    enter(site, "pwd", "otp")
    at = session(site).auth_at
    frozen.advance(60)
    use_passkey(asked_at(site, "/passkey"), key, unverified=True)
    assert proved(site) == (("pwd", "pop"), at)


def test_a_passkey_without_verification_alone_is_not_enough_for_the_time(site, frozen):
    key = register(site, site.ann)
    enter(site, "pwd")
    frozen.advance(601)
    again = use_passkey(asked_at(site, "/recent"), key, 422, unverified=True)
    assert "current_password" in fields(again)
    assert proved(site)[0] == ("pwd",)
    use_passkey(again, key, current_password=PASSWORD, unverified=True)
    assert proved(site) == (("pwd", "pop"), clock.now())


def test_the_time_of_a_sign_in_by_passkey_takes_the_passkey(site, frozen):
    """Password and code are a lower level than what the sign-in rests on."""
    key = register(site, site.ann)
    enter(site, "pop", "user")
    frozen.advance(601)
    page = asked_at(site, "/recent")
    assert fields(page) == {"credential"}
    use_passkey(page, key)
    assert proved(site) == (("pop", "user"), clock.now())


def test_a_challenge_is_of_the_session_that_asked(site):
    key = register(site, site.ann)
    enter(site, "pwd")
    page = asked_at(site, "/passkey")
    site.http.reset()
    enter(site, "pwd")
    mine = asked_at(site, "/passkey")
    page.forms["factor"]["csrf_token"] = csrf_of(mine)
    use_passkey(page, key, 422)
