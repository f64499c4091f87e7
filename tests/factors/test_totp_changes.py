"""What a new authenticator app means for the sign-ins, and how it is replaced and removed."""

import pytest
from sqlalchemy import update

from authsite.oauth.models import Family
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import amr_of
from authsite.sign_in.methods.recovery_codes.service import RecoveryCode
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.users.models import User
from tests.factors.steps import NOTHING, details
from tests.support.site import PASSWORD, bearer


def second_login(person):
    """The access token of another sign-in of the same user, of before there was a factor."""
    of_user = update(User).where(User.id == person.id)
    with person.site.db() as db:
        db.execute(of_user.values(second_factor_at=None))
    token = person.site.login(person.keys, person.email)["access_token"]
    with person.site.db() as db:
        db.execute(of_user.values(second_factor_at=User.factors_since))
    return token


def test_with_a_first_factor_the_other_sign_ins_end(ann):
    other = bearer(ann.site.login(ann.keys)["access_token"])
    ann.enroll()
    ann.site.http.get("/v1/user", headers=other, status=401)
    ann.site.http.get("/v1/user", headers=ann.headers, status=200)


def test_the_other_sign_ins_stay_if_the_user_wants_that(ann):
    other = bearer(ann.site.login(ann.keys)["access_token"])
    ann.confirm(ann.begin(), end_others=False)
    ann.site.http.get("/v1/user", headers=other, status=200)


def test_a_first_factor_raises_the_level_of_the_present_sign_in(ann, frozen):
    ann.login()
    ann.be_known()
    begun = ann.begin()
    proved_at = clock.now()
    frozen.advance(120)
    ann.confirm(begun)
    [family] = [each for each in ann.stored(Family) if each.user_epoch == ann.row().epoch]
    assert amr_of(family.facts) == ("pwd", "otp")
    assert family.auth_at == proved_at


def test_another_app_replaces_the_present_one(ann, frozen):
    ann.login()
    ann.be_known()
    ann.enroll()
    former, before = ann.secret, ann.row()
    other = bearer(second_login(ann))
    frozen.advance(60)
    answer = ann.enroll()
    assert answer["recovery_codes"]["left"] == 8  # they stay, and are not shown again
    after = ann.row()
    assert after.factors_since == before.factors_since
    assert after.second_factor_at == before.second_factor_at
    assert after.factor_version == before.factor_version + 1
    assert len(ann.stored(TotpFactor)) == 1
    frozen.advance(90)
    assert ann.second(ann.code(former)) == {"wrong": "invalid_code"}
    assert ann.second(ann.code()) == {"amr": ["pwd", "otp"]}
    assert ann.site.events().count("factor.added") == 2
    ann.site.http.get("/v1/user", headers=other, status=200)


def test_the_present_app_serves_until_the_new_one_is_confirmed(ann, frozen):
    ann.login()
    ann.be_known()
    ann.enroll()
    frozen.advance(90)
    begun = ann.begin()
    ann.confirm(begun, 422, code="000000")
    assert ann.second(ann.code()) == {"amr": ["pwd", "otp"]}


def test_a_change_ends_pending_logins(ann, frozen):
    ann.login()
    ann.be_known()
    ann.enroll()
    frozen.advance(90)
    key = ann.password()["key"]
    ann.call("post", "recovery-codes")
    ann.second(ann.code(), key=key, status=410)


def test_removing_the_app(ann):
    ann.enroll()
    [totp] = ann.stored(TotpFactor)
    ann.call("delete", "totp", 422, current_password="wrong")
    ann.call("delete", "totp", 204)
    assert ann.factors() == NOTHING
    assert ann.stored(RecoveryCode) == []
    row = ann.row()
    assert (row.second_factor_at, row.factors_since) == (None, None)
    assert ann.password() == {"amr": ["pwd"]}
    [removed] = details(ann, "factor.removed")
    assert removed["kind"] == "totp"
    assert removed["factor"] == str(totp.id)
    ann.call("delete", "totp", 404)


CHANGES = [
    ("post", "totp", {}),
    ("delete", "totp", {}),
    ("post", "recovery-codes", {}),
    ("put", "second-factor", {"after_password": True}),
]


@pytest.mark.parametrize(("method", "path", "body"), CHANGES)
@pytest.mark.parametrize(("amr", "minutes", "expected"), [
    (("pwd", "otp"), 11, 'max_age=600'),
    (("pwd",), 0, 'acr_values="aal2", max_age=600'),
    (("pwd", "device"), 0, 'acr_values="aal2", max_age=600'),
])  # fmt: skip
def test_a_change_needs_a_second_factor_of_just_now(
    ann, method, path, body, amr, minutes, expected
):
    ann.enroll()
    ann.prove(amr, minutes)
    send = getattr(ann.site.http, f"{method}_json")
    body = {"current_password": "wrong", **body}  # asked for only afterwards
    answer = send(f"/v1/user/{path}", body, headers=ann.headers, status=401)
    challenge = answer.headers["WWW-Authenticate"]
    assert challenge == f'Bearer error="insufficient_user_authentication", {expected}'
    assert ann.factors()["totp"] is not None
    ann.prove()
    body["current_password"] = PASSWORD
    assert send(f"/v1/user/{path}", body, headers=ann.headers).status_int in (200, 204)
