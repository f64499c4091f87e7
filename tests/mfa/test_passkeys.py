"""Passkeys at clients: alone, by the grant or the proxy, and as a second step."""

import json

import pytest
from sqlalchemy import update

from authsite.oauth.models import PASSKEY_GRANT
from authsite.sign_in.credentials import amr_of
from authsite.users.models import User
from tests.mfa.two_steps import codes_of, families, go_on, rows
from tests.passkeys.passkey_users import register
from tests.support import factors
from tests.support.authenticator import Authenticator
from tests.support.pages import csrf_of
from tests.support.site import PASSWORD, WEB, bearer


@pytest.fixture
def site(site_with):
    made = site_with(**WEB)
    made.web = made.first_party("web", scope="a b", default_scope="a")
    made.keys = made.client(scope="a b", default_scope="a")
    made.ann = made.user(confirmed=True)
    made.key = register(made, made.ann)
    return made


def options(site, keys=None, status=200):
    form = (keys or site.keys).form()
    return site.http.post("/v1/passkeys/options", form, status=status).json


def grant(site, credential, status=200, keys=None, **form):
    text = credential if isinstance(credential, str) else json.dumps(credential)
    form |= {"grant_type": PASSKEY_GRANT, "credential": text}
    return site.token(keys or site.keys, status, **form).json


def of_web(site, path, body, status=200):
    return site.http.post_json(f"/v1/clients/web/{path}", body, status=status)


def newest(site):
    return max(families(site), key=lambda each: each.created_at)


def test_a_passkey_alone_signs_in_to_a_client(site):
    asked = options(site)
    assert (asked["userVerification"], asked["rpId"]) == ("required", "localhost")
    assert "allowCredentials" not in asked
    answer = grant(site, site.key.get(asked), scope="b")
    assert "scope" not in answer
    assert (amr_of(newest(site).facts), newest(site).scope) == (("pop", "user"), "b")
    assert site.http.get("/v1/user", headers=bearer(answer["access_token"]), status=200)


def test_a_challenge_serves_once_and_at_one_client(site):
    other = site.client(scope="a", default_scope="a", name="other")
    used = site.key.get(options(site))
    assert grant(site, used, 400, keys=other)["error"] == "invalid_grant"
    grant(site, used)
    again = grant(site, used, 400)
    assert (again["error"], codes_of(again)) == ("invalid_grant", [])


def test_a_challenge_of_the_login_page_does_not_serve(site):
    site.http.get("/login")
    asked = site.http.get("/login/passkey/options").json
    grant(site, site.key.get(asked), 400)
    form = {"csrf_token": csrf_of(site.http.get("/login")), "credential": ""}
    form["credential"] = json.dumps(site.key.get(options(site)))
    site.http.post("/login/passkey", form, status="*")
    site.http.get("/account", status=302)


def test_wrong_unknown_and_disabled_are_answered_alike(site):
    stranger = Authenticator()
    stranger.handle = site.key.handle
    answers = [grant(site, text, 400) for text in ("x", "{}", "[]", '{"id": 1}')]
    answers.append(grant(site, site.key.get(options(site), unverified=True), 400))
    answers.append(grant(site, stranger.get(options(site)), 400))
    with site.db() as db:
        db.execute(update(User).values(disabled_at=User.created_at))
    answers.append(grant(site, site.key.get(options(site)), 400))
    assert {str(each) for each in answers} == {str(answers[0])}
    assert answers[0]["error"] == "invalid_grant"
    assert codes_of(answers[0]) == []
    assert families(site) == []


def test_clients_that_log_nobody_in_get_no_options(site):
    for type in ("personal", "server", "resource-server"):
        keys = site.client(type, name=type)
        assert options(site, keys, 400)["error"] == "unauthorized_client"
        assert grant(site, "{}", 400, keys=keys)["error"] == "unauthorized_client"
    site.http.post("/v1/passkeys/options", {"client_id": site.keys.client_id}, status=401)
    site.http.post("/v1/passkeys/options?x=1", site.keys.form(), status=400)


def test_where_passkeys_are_off_a_client_is_told_so(site_with):
    site = site_with(base_url="https://192.0.2.7", **WEB)
    site.first_party("web")
    keys = site.client()
    for answer in (
        options(site, keys, 400),
        grant(site, "{}", 400, keys=keys),
        of_web(site, "passkey-options", {}, 400).json,
        of_web(site, "passkey", {"credential": "{}"}, 400).json,
    ):
        assert answer["error"] == "unsupported_grant_type"


@pytest.mark.parametrize("as_text", [True, False])
def test_the_proxy_takes_the_object_and_its_text(site, as_text):
    used = site.key.get(of_web(site, "passkey-options", {}).json)
    answer = of_web(site, "passkey", {"credential": json.dumps(used) if as_text else used})
    assert "refreshToken=" in str(answer.headers.getall("Set-Cookie"))
    of_web(site, "refresh", {})
    assert amr_of(newest(site).facts) == ("pop", "user")
    assert of_web(site, "passkey", {"credential": used}, 400).json["error"] == "invalid_grant"


def test_a_long_credential_is_refused(site):
    used = site.key.get(options(site)) | {"more": "x" * 16_384}
    assert grant(site, used, 400)["error"] == "invalid_request"
    assert of_web(site, "passkey", {"credential": used}, 400).json["error"] == "invalid_request"
    for wrong in ([], 1, True):
        answer = of_web(site, "passkey", {"credential": wrong}, 400)
        assert answer.json["error"] == "invalid_request"


@pytest.fixture
def two_factors(site):
    """Ann has an authenticator app as well."""
    factors.add_totp(site, site.ann)
    return site


def login(site, **form):
    return site.login(site.keys, status=400, **form)


@pytest.mark.parametrize(
    ("verified", "amr"), [(True, ("pwd", "pop", "user")), (False, ("pwd", "pop"))]
)
def test_a_passkey_is_a_second_step(two_factors, verified, amr):
    site, answer = two_factors, login(two_factors)
    assert answer["mfa_methods"][:2] == ["passkey", "totp"]
    asked = answer["passkey_options"]
    assert asked["userVerification"] == "preferred"
    assert len(asked["allowCredentials"]) == 1
    used = site.key.get(asked, unverified=not verified)
    go_on(site, answer["mfa_token"], "", mfa_method="passkey", credential=json.dumps(used))
    assert amr_of(newest(site).facts) == amr


def test_a_wrong_passkey_as_a_second_step_is_named(two_factors):
    site, answer = two_factors, login(two_factors)
    token, asked = answer["mfa_token"], answer["passkey_options"]
    for used in (site.key.get(options(site)), site.key.get(login(site)["passkey_options"]), {}):
        wrong = go_on(
            site, token, "", 400, mfa_method="passkey", credential=json.dumps(used)
        )  # fmt: skip
        assert (wrong["error"], codes_of(wrong)) == ("invalid_grant", ["invalid_credential"])
        assert wrong["errors"][0]["field"] == "credential"
    used = json.dumps(site.key.get(asked))
    # That challenge is of a second step, and does not sign a user in alone.
    assert grant(site, used, 400)["error"] == "invalid_grant"
    go_on(site, token, "", mfa_method="passkey", credential=used)


def test_the_proxy_takes_a_passkey_as_the_object(two_factors):
    site = two_factors
    body = {"username": "ann@example.com", "password": PASSWORD}
    answer = of_web(site, "login", body, 400).json
    used = site.key.get(answer["passkey_options"])
    body = {"mfa_token": answer["mfa_token"], "mfa_method": "passkey", "credential": used}
    of_web(site, "mfa", body)
    assert rows(site) == []


def test_another_users_passkey_is_no_second_step(two_factors):
    site = two_factors
    bobs = register(site, site.user("bob@example.com", confirmed=True))
    answer = login(site)
    used = json.dumps(bobs.get(answer["passkey_options"]))
    wrong = go_on(site, answer["mfa_token"], "", 400, mfa_method="passkey", credential=used)
    assert codes_of(wrong) == ["invalid_credential"]


def test_a_passkey_user_logs_in_by_password_without_a_second_step(site):
    """A passkey alone is a way to sign in; the user's switch makes it a second factor."""
    site.login(site.keys)
    with site.db() as db:
        values = {"second_factor_at": User.created_at, "passkey_after_password": True}
        db.execute(update(User).values(values))
    assert login(site)["mfa_methods"] == ["passkey", "recovery_code"]
    wrong = login(site, otp="123456")  # without an app it is a wrong recovery code
    assert codes_of(wrong) == ["invalid_code"]
