"""A provider that does not tell when the user proved there to be who they are.

It may have signed the user in without asking: such a sign-in is never a recent one. A proof that
the user gives to us is.
"""

from sqlalchemy import update

from authsite.platform.runtime import clock
from authsite.users.models import User
from tests.passkeys.passkey_users import register
from tests.support.site import PASSWORD

from .people import (
    asked_at,
    challenge,
    enter,
    fields,
    give,
    mailed_code,
    proved,
    use_passkey,
    without_password,
)

UNDATED = ("idp", "undated")


def test_a_mailed_code_stands_for_the_time(plain, frozen):
    enter(plain, *UNDATED)
    without_password(plain, plain.ann)
    script = {"Accept": "application/json"}
    answer = plain.http.get("/recent", headers=script, status=401)
    assert answer.headers["WWW-Authenticate"] == challenge(max_age=600)
    page = asked_at(plain, "/recent")
    sent = page.forms[0].submit(status=303).follow()
    assert fields(sent) == {"mail_code"}
    give(sent, mail_code=mailed_code(plain))
    assert proved(plain) == (("email",), clock.now())
    assert plain.http.get("/recent").text == "hello ann@example.com"


def test_so_does_the_password_of_a_user_who_has_one(plain, frozen):
    enter(plain, *UNDATED)
    page = asked_at(plain, "/recent")
    assert fields(page) == {"current_password"}
    give(page, current_password=PASSWORD)
    assert proved(plain) == (("pwd",), clock.now())


def test_a_factor_alone_adds_the_level_and_no_time(site, frozen):
    enter(site, *UNDATED)
    without_password(site, site.ann)
    give(asked_at(site, "/strong"), code=site.phone.code())
    assert proved(site)[0] == (*UNDATED, "otp")
    assert site.http.get("/strong").text == "hello ann@example.com"
    asked_at(site, "/recent")


def test_nor_does_a_key_that_is_only_touched(plain, frozen):
    key = register(plain, plain.ann)
    with plain.db() as db:
        db.execute(update(User).values(passkey_after_password=True, second_factor_at=frozen.at))
    enter(plain, *UNDATED)
    without_password(plain, plain.ann)
    use_passkey(asked_at(plain, "/strong"), key, unverified=True)
    assert proved(plain)[0] == (*UNDATED, "pop")
    asked_at(plain, "/recent")


def test_applications_are_told_no_time(plain, frozen):
    enter(plain, *UNDATED)
    headers = plain.http.get("/v1/guard/web").headers
    assert (headers["X-Auth-Acr"], headers["X-Auth-Amr"]) == ("aal1", "")
    assert headers["X-Auth-Time"] == ""
    plain.http.reset()
    enter(plain, "idp")
    assert plain.http.get("/v1/guard/web").headers["X-Auth-Time"] == str(
        int(clock.now().timestamp())
    )
