"""What every sensitive change asks for: `require_proof`, by all its callers."""

import pytest
from sqlalchemy import update

from authsite.oauth.models import Family
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import pack
from authsite.sign_in.sessions.models import BrowserSession
from tests.factor_pages.people import add_app
from tests.passkeys.passkey_users import register
from tests.support.pages import submit
from tests.support.site import PASSWORD, bearer

from .people import OURS, challenge, enter, without_password

CHANGES = {
    "password": ("put_json", "/v1/user/password", {"password": "purple wolf 77 tea"}),
    "address": ("put_json", "/v1/user/email", {"email": "new@example.com"}),
    "deletion": ("delete_json", "/v1/user", {}),
    "token": ("post_json", "/v1/user/tokens", {"name": "backup"}),
    "export": ("post_json", "/v1/user/export", {}),
    "app": ("post_json", "/v1/user/totp", {}),
    "app removed": ("delete_json", "/v1/user/totp", {}),
    "codes": ("post_json", "/v1/user/recovery-codes", {}),
    "switch": ("put_json", "/v1/user/second-factor", {"after_password": True}),
    "passkey": ("post_json", "/v1/user/passkeys/options", {}),
}

OF_FACTORS = {"app", "app removed", "codes", "switch", "passkey"}


@pytest.fixture
def api(plain):
    """Ann has signed in with a client, by the password."""
    plain.headers = bearer(plain.login(plain.client())["access_token"])
    return plain


def become(site, *amr, model=Family, at=None):
    with site.db() as db:
        db.execute(update(model).values(facts=pack(amr), auth_at=at or clock.now()))


def send(site, name, status, **given):
    method, path, body = CHANGES[name]
    call = getattr(site.http, method)
    return call(path, {**body, **given}, headers=site.headers, status=status)


@pytest.mark.parametrize("name", CHANGES)
def test_a_stolen_password_is_not_enough_where_a_factor_is_enrolled(api, name):
    add_app(api, api.ann)
    answer = send(api, name, 401, current_password=PASSWORD)
    assert answer.headers["WWW-Authenticate"] == challenge("aal2", 600)
    assert answer.json["errors"][0]["code"] == "insufficient_user_authentication"


@pytest.mark.parametrize("name", CHANGES)
def test_a_sign_in_with_a_factor_must_be_recent(api, frozen, name):
    add_app(api, api.ann)
    become(api, "pwd", "otp")
    frozen.advance(600)
    answer = send(api, name, 401, current_password=PASSWORD)
    assert answer.headers["WWW-Authenticate"] == challenge(None, 600)


@pytest.mark.parametrize("name", sorted(OF_FACTORS))
@pytest.mark.parametrize("amr", [("pwd", "otp"), ("pop", "user"), ("idp", "otp")], ids=" ".join)
def test_who_has_just_proved_a_factor_changes_the_factors_without_the_password(api, name, amr):
    add_app(api, api.ann)
    register(api, api.ann)
    become(api, *amr)
    error = send(api, name, 422, current_password="wrong 123 wrong").json["errors"][0]
    assert (error["code"], error["field"]) == ("invalid_password", "current_password")
    assert send(api, name, "*").status_int in (200, 204)


@pytest.mark.parametrize("name", sorted(OF_FACTORS - {"app removed"}))
def test_without_a_factor_the_password_is_asked_for(api, name):
    error = send(api, name, 422).json["errors"][0]
    assert (error["code"], error["field"]) == ("required", "current_password")


def test_a_thief_with_a_fresh_sign_in_gets_no_further_than_the_factors(api, frozen):
    """What it takes to keep the account for good, and to lock the owner out, asks the password."""
    add_app(api, api.ann)
    become(api, "pwd", "otp")
    send(api, "app removed", 204)
    assert "factor.removed" in api.events()
    assert any("login/not-me" in str(mail.get_body(("plain",))) for mail in api.mails())
    add_app(api, api.ann)
    for name in ("password", "address", "deletion", "token", "export"):
        error = send(api, name, 422).json["errors"][0]
        assert (error["code"], error["field"]) == ("required", "current_password")
    frozen.advance(600)
    for name in OF_FACTORS:
        send(api, name, 401)


@pytest.mark.parametrize("name", sorted(set(CHANGES) - OF_FACTORS))
def test_the_password_is_asked_for_as_well(api, name):
    add_app(api, api.ann)
    become(api, "pwd", "otp")
    error = send(api, name, 422).json["errors"][0]
    assert (error["code"], error["field"]) == ("required", "current_password")
    error = send(api, name, 422, current_password="wrong 123 wrong").json["errors"][0]
    assert (error["code"], error["field"]) == ("invalid_password", "current_password")
    send(api, name, "*", current_password=PASSWORD)


def test_the_level_is_asked_before_the_password(api):
    """A person with a stolen token cannot guess the password."""
    add_app(api, api.ann)
    for _ in range(12):
        send(api, "export", 401, current_password="wrong 123 wrong")
    assert "reauthentication.failed" not in api.events()


def test_a_passkey_counts_as_a_factor(api):
    register(api, api.ann)
    assert send(api, "export", 401, current_password=PASSWORD)
    become(api, "pop", "user")
    send(api, "export", 200, current_password=PASSWORD)


def test_without_a_factor_nothing_has_changed(api, frozen):
    frozen.advance(3600)
    error = send(api, "export", 422).json["errors"][0]
    assert (error["code"], error["field"]) == ("required", "current_password")
    send(api, "export", 200, current_password=PASSWORD)


def test_without_a_password_a_factor_is_enough(api):
    add_app(api, api.ann)
    without_password(api, api.ann)
    send(api, "export", 401)
    become(api, "idp", "otp")
    send(api, "export", 200)


def test_without_either_a_confirmation_or_a_mailed_code_is_needed(api):
    without_password(api, api.ann)
    answer = send(api, "export", 401)
    assert answer.headers["WWW-Authenticate"] == challenge(None, 600)
    error = send(api, "export", 422, mail_code="BBBB-BBBB").json["errors"][0]
    assert (error["code"], error["field"]) == ("invalid_code", "mail_code")


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/account/password", {"current_password": PASSWORD, "password": "purple wolf 77 tea"}),
        ("/account/email", {"current_password": PASSWORD, "email": "new@example.com"}),
        ("/account/delete", {"current_password": PASSWORD}),
        ("/account/export", {"current_password": PASSWORD}),
    ],
)
def test_a_form_leads_to_the_page_that_asks(site, path, fields):
    enter(site, "pwd")
    answer = submit(site, path, page="/account/security", **fields)
    assert answer.status_int == 303
    assert answer.location.startswith(f"{OURS}/login/verify?")
    assert "acr_values=aal2&max_age=600&unsaved=1" in answer.location
    become(site, "pwd", "otp", model=BrowserSession)
    answer = submit(site, path, page="/account/security", **fields)
    assert "/login/verify" not in answer.headers.get("Location", "")
