"""Add an authenticator app by the API; what each change needs as proof."""

from base64 import b32decode
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pyotp
import pytest

from authsite.platform.runtime import clock
from authsite.sign_in.factors.policy import can_keep_secrets
from authsite.sign_in.methods.recovery_codes.service import RecoveryCode
from authsite.sign_in.methods.totp.models import TotpFactor
from tests.factors.steps import NOTHING, Person, details
from tests.support.settings import settings
from tests.support.site import PASSWORD, bearer
from tests.support.together import together

KEY = "8f" * 32


def codes_of(answer):
    return [(each["code"], each["field"]) for each in answer["errors"]]


def session_id(person):
    return person.site.http.get("/v1/user/sessions", headers=person.headers).json["sessions"][0][
        "id"
    ]


def test_a_user_without_factors(ann):
    assert ann.factors() == NOTHING
    assert ann.password() == {"amr": ["pwd"]}
    ann.call("delete", "totp", 404)


def test_adding_an_app(ann):
    begun = ann.begin()
    assert ann.factors() == NOTHING  # nothing is stored yet
    assert len(b32decode(begun["secret"])) == 20
    assert begun["enrollment"].startswith("et_")
    assert ann.password() == {"amr": ["pwd"]}
    answer = ann.confirm(begun)
    codes = answer.pop("recovery_codes")
    assert len(set(codes)) == 8
    found = ann.factors()
    assert found.pop("recovery_codes")["left"] == 8
    assert answer == found
    assert answer["second_factor"] is True
    assert answer["totp"]["last_used_at"] is None
    row = ann.row()
    assert row.second_factor_at == row.factors_since
    assert row.factor_version == 1
    assert ann.password()["methods"] == ["totp", "recovery_code"]
    [added] = details(ann, "factor.added")
    [totp] = ann.stored(TotpFactor)
    assert added == {"kind": "totp", "factor": str(totp.id), "session": session_id(ann)}


def test_the_address_is_what_an_app_reads(steps):
    ann = Person(steps(site_name="Blue & Green: Shop"), "ann+x@example.com")
    begun = ann.begin()
    uri = begun["otpauth_uri"]
    assert uri.startswith("otpauth://totp/Blue%20%26%20Green%20Shop:ann%2Bx%40example.com?")
    assert "+" not in uri
    assert parse_qs(urlsplit(uri).query) == {
        "secret": [begun["secret"]], "issuer": ["Blue & Green Shop"],
    }  # fmt: skip
    app = pyotp.parse_uri(uri)
    assert (app.issuer, app.name) == ("Blue & Green Shop", "ann+x@example.com")
    ann.confirm(begun, code=app.at(clock.now()))


def test_the_qr_code_is_dark_on_white_with_a_margin(ann):
    import segno

    begun = ann.begin()
    drawn = begun["qr_svg"]
    assert drawn.startswith("<svg ")
    assert drawn.endswith("</svg>")
    made = segno.make(begun["otpauth_uri"], error="m", micro=False)
    width = made.symbol_size(scale=4, border=4)[0]
    assert f'width="{width}px"' in drawn
    assert 'fill="#fff"' in drawn
    for script in ("<script", "onload", "http://www.w3.org/1999/xlink"):
        assert script not in drawn


def test_the_secret_is_stored_sealed(ann):
    ann.enroll()
    [row] = ann.stored(TotpFactor)
    assert ann.secret not in row.secret
    assert row.secret.startswith(ann.site.app.registry["authsite"].sealing.prefix)


def test_without_the_proof_nothing_begins(ann):
    assert codes_of(ann.begin(422, current_password=None)) == [("required", "current_password")]
    assert codes_of(ann.begin(422, current_password="wrong")) == [
        ("invalid_password", "current_password")
    ]


@pytest.mark.parametrize("code", ["000000", "12345", "\uff11" * 6, "1" * 64])
def test_a_wrong_code_confirms_nothing_and_the_right_one_then_does(ann, code):
    begun = ann.begin()
    assert codes_of(ann.confirm(begun, 422, code=code)) == [("invalid_code", "code")]
    assert ann.factors() == NOTHING
    ann.confirm(begun)


def test_a_code_of_a_hundred_thousand_digits_is_refused(ann):
    begun = ann.begin()
    body = {"enrollment": begun["enrollment"], "code": "1" * 100_000}
    ann.site.http.post_json("/v1/user/totp/confirm", body, headers=ann.headers, status=(413, 422))


def test_an_enrollment_serves_once(ann):
    begun = ann.begin()
    ann.confirm(begun)
    assert codes_of(ann.confirm(begun, 422)) == [("invalid_token", "enrollment")]
    ann.call("delete", "totp", 204)
    assert codes_of(ann.confirm(begun, 422)) == [("invalid_token", "enrollment")]


@pytest.mark.both_databases
def test_of_twenty_confirmations_at_once_one_succeeds(ann):
    begun = ann.begin()
    body = {"enrollment": begun["enrollment"], "code": ann.code(begun["secret"])}

    def confirm():
        return ann.site.http.post_json(
            "/v1/user/totp/confirm", body, headers=ann.headers, status="*"
        ).status_int

    # The others find it used, or the sign-in renewed under them.
    assert sorted(together(*[confirm] * 20))[:2] in ([200, 401], [200, 422])
    assert len(ann.stored(TotpFactor)) == 1
    assert len(ann.stored(RecoveryCode)) == 8


def test_an_enrollment_ends_after_fifteen_minutes(steps, frozen):
    ann = Person(steps())
    begun = ann.begin()
    frozen.advance(15 * 60 - 1)
    ann.confirm(begun, 422, code="000000")
    frozen.advance(1)
    assert codes_of(ann.confirm(begun, 422)) == [("invalid_token", "enrollment")]


def test_an_enrollment_belongs_to_its_user_and_sign_in(ann):
    begun = ann.begin()
    bob = Person(ann.site, "bob@example.com")
    assert codes_of(bob.confirm(begun, 422)) == [("invalid_token", "enrollment")]
    former = ann.headers
    ann.login()
    assert codes_of(ann.confirm(begun, 422)) == [("invalid_token", "enrollment")]
    for text in ("et_", "et_x.y", begun["enrollment"][3:], begun["enrollment"][:-2] + "AA"):
        wrong = {**begun, "enrollment": text}
        assert codes_of(ann.confirm(wrong, 422)) == [("invalid_token", "enrollment")]
    ann.headers = former
    ann.confirm(begun)


def test_an_enrollment_of_before_a_change_does_not_replace_the_factor(ann):
    """An intruder with the password begins, and the owner then adds a factor."""
    intruder = ann.begin()
    begun = ann.begin()
    ann.confirm(begun)
    assert codes_of(ann.confirm(intruder, 422)) == [("invalid_token", "enrollment")]


def test_what_the_settings_do_not_offer_cannot_be_added(steps):
    ann = Person(steps(factors="passkey"))
    ann.begin(404)


@pytest.mark.parametrize(("production", "key", "possible"), [
    (True, "", False), (True, KEY, True), (False, "", True),
])  # fmt: skip
def test_in_production_it_needs_a_sealing_key(production, key, possible):
    given = settings(AUTHSITE_SEALING_KEY=key)
    assert can_keep_secrets(replace(given, production=production)) == possible


def test_changes_are_limited(steps):
    ann = Person(steps(**{"limits": "on", "limits.factor_changes": "3/hour"}))
    for _ in range(3):
        ann.begin()
    ann.begin(429)
    ann.call("delete", "totp", 429)
    bob = Person(ann.site, "bob@example.com")
    bob.begin()


def test_a_wrong_password_counts_no_change(steps):
    ann = Person(steps(**{"limits": "on", "limits.factor_changes": "1/hour"}))
    ann.begin(422, current_password="wrong")
    ann.begin()


def test_personal_tokens_and_clients_of_their_own_open_nothing(ann):
    made = ann.call("post", "tokens", name="backup", status=201)
    own = bearer(made["token"])
    proof = {"current_password": PASSWORD}
    for method, path, body in [
        ("post", "totp", proof), ("post", "totp/confirm", {"enrollment": "et_x", "code": "1"}),
        ("delete", "totp", proof), ("post", "recovery-codes", proof),
        ("put", "second-factor", {"after_password": True, **proof}),
        ("delete", "remembered-browsers", {}),
    ]:  # fmt: skip
        send = getattr(ann.site.http, f"{method}_json")
        send(f"/v1/user/{path}", body, headers=own, status=403)
        send(f"/v1/user/{path}", body, status=401)
    ann.site.http.get("/v1/user/factors", headers=own, status=403)
