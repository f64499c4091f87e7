"""Clients that log users in by password: the answer ``mfa_required``, and the second step."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import update
from webtest import TestApp

from authsite.oauth.models import MFA_GRANT, Client
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import amr_of
from authsite.users.models import User
from tests.mfa.two_steps import (
    RIGHT,
    begin,
    codes_of,
    details_of,
    families,
    go_on,
    made,
    rows,
)
from tests.support.applications import resource
from tests.support.site import PASSWORD, bearer


@pytest.fixture
def site(host_with):
    return made(host_with)


def test_a_right_password_is_answered_with_what_is_missing(site):
    answer = begin(site)
    assert answer["error"] == "mfa_required"
    assert answer["error_description"] == answer["message"]
    assert answer["mfa_token"].startswith("mt_")
    assert len(answer["mfa_token"]) == 46  # 256 bits
    assert (answer["expires_in"], answer["mfa_methods"]) == (600, ["word"])
    assert answer["mfa_enroll"] is False
    assert answer.keys().isdisjoint({"passkey_options", "errors"})
    assert families(site) == []
    [row] = rows(site)
    assert answer["mfa_token"].removeprefix("mt_") not in str(vars(row))
    assert details_of(site, "login.pending") == {"amr": "pwd"}


def test_the_second_step_issues_the_tokens_that_the_first_one_asked_for(site):
    token = begin(site, scope="b")["mfa_token"]
    answer = go_on(site, token)
    assert answer["scope"] == "b"
    [family] = families(site)
    assert (amr_of(family.facts), family.granted_scope) == (("pwd", "otp"), "b")
    assert details_of(site, "token.issued")["amr"] == "pwd otp"
    assert rows(site) == []
    site.refresh(site.keys, answer["refresh_token"])
    assert site.http.get("/v1/user", headers=bearer(answer["access_token"]), status=200)


@pytest.mark.both_databases
def test_a_token_of_a_login_serves_once(site):
    token = begin(site)["mfa_token"]

    form = site.keys.form(grant_type=MFA_GRANT, mfa_token=token, mfa_method="word", code=RIGHT)

    def attempt(_):
        return TestApp(site.app).post("/v1/oauth/token", form, status="*").status_int

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(attempt, range(4))) == [200, 400, 400, 400]
    assert len(families(site)) == 1
    ended = go_on(site, token, status=400)
    assert (ended["error"], codes_of(ended)) == ("invalid_grant", [])


@pytest.mark.parametrize(("code", "named"), [("five", "invalid_code"), ("used", "code_used")])
def test_a_wrong_code_is_named_and_may_be_repeated(site, code, named):
    token = begin(site)["mfa_token"]
    answer = go_on(site, token, code, status=400)
    assert (answer["error"], codes_of(answer)) == ("invalid_grant", [named])
    assert answer["errors"][0]["field"] == "code"
    assert details_of(site, "factor.failed") == {"method": "word", "reason": named}
    go_on(site, token)


def test_five_wrong_codes_end_it(host_with):
    site = made(host_with, limits="off")
    token = begin(site)["mfa_token"]
    for _ in range(5):
        assert codes_of(go_on(site, token, "five", status=400)) == ["invalid_code"]
    assert codes_of(go_on(site, token, status=400)) == []
    assert families(site) == []


def test_guesses_are_counted_over_all_logins_of_a_user(site):
    for _ in range(5):
        go_on(site, begin(site)["mfa_token"], "five", status=400)
    go_on(site, begin(site)["mfa_token"], status=429)
    assert families(site) == []


def test_the_token_of_another_client_is_refused_and_stays(site):
    other, token = site.client(scope="a", default_scope="a", name="other"), begin(site)["mfa_token"]
    answer = go_on(site, token, status=400, keys=other)
    assert (answer["error"], codes_of(answer)) == ("invalid_grant", [])
    go_on(site, token)


def test_a_token_of_a_login_opens_nothing_else(site):
    token = begin(site)["mfa_token"]
    for text in (token, token.removeprefix("mt_")):
        site.http.get("/v1/user", headers=bearer(text), status=401)
        assert site.introspect(site.keys, text) == {"active": False}
        site.refresh(site.keys, text, status=400)
        for name in ("authsite", "authsite-login"):
            site.http.set_cookie(name, text)
            site.http.get("/account", status=302)
    go_on(site, token.removeprefix("mt_"), status=400)
    assert len(rows(site)) == 1
    go_on(site, token)


@pytest.mark.parametrize("changed", ["epoch", "factor_version"])
def test_a_change_of_the_user_ends_it(site, changed):
    token = begin(site)["mfa_token"]
    with site.db() as db:
        db.execute(update(User).values({changed: getattr(User, changed) + 1}))
    assert codes_of(go_on(site, token, status=400)) == []
    assert families(site) == []


@pytest.mark.parametrize("values", [{"epoch": 1}, {"disabled_at": clock.now()}])
def test_a_change_of_the_client_ends_it(site, values):
    token = begin(site)["mfa_token"]
    with site.db() as db:
        db.execute(update(Client).values(values))
    assert go_on(site, token, status="*")["error"] in ("invalid_grant", "invalid_client")
    assert families(site) == []


def test_it_lasts_ten_minutes(site, frozen):
    token = begin(site)["mfa_token"]
    frozen.advance(599)
    go_on(site, token, "five", status=400)
    frozen.advance(2)
    assert codes_of(go_on(site, token, status=400)) == []


@pytest.mark.parametrize("method", ["totp", "password", "unknown", "passkey", "email"])
def test_another_method_than_those_named_is_refused_and_not_counted(site, method):
    token = begin(site)["mfa_token"]
    for _ in range(6):
        answer = go_on(site, token, status=400, mfa_method=method)
        assert answer["error"] == "invalid_request"
    go_on(site, token)


def test_missing_and_repeated_parameters_are_not_attempts(site):
    token = begin(site)["mfa_token"]
    for form in ({"mfa_method": ""}, {"mfa_token": ""}, {"code": ""}):
        assert go_on(site, token, status=400, **form)["error"] == "invalid_request"
    pairs = [*site.keys.form(grant_type=MFA_GRANT, mfa_token=token, code=RIGHT).items()]
    twice = [*pairs, ("mfa_method", "word"), ("mfa_method", "word")]
    assert site.http.post("/v1/oauth/token", twice, status=400).json["error"] == "invalid_request"
    assert [row.failures for row in rows(site)] == [0]
    go_on(site, token)


@pytest.mark.parametrize("text", ["mt_", "mt_x", "x", "mt_\x7f", "mt_" + "é" * 200])
def test_a_text_that_is_no_token_is_refused(site, text):
    assert go_on(site, text, status=400)["error"] == "invalid_grant"


@pytest.mark.parametrize("type", ["personal", "server", "resource-server"])
def test_clients_that_log_nobody_in_have_no_second_step(site, type):
    keys = site.client(type, name=type)
    assert go_on(site, "mt_x", status=400, keys=keys)["error"] == "unauthorized_client"


def test_a_wrong_password_does_not_say_that_there_is_a_second_step(site):
    answer = site.login(site.keys, password="not this one", status=400)
    assert answer == site.login(site.keys, "nobody@example.com", "not this one", status=400)
    assert answer["error"] == "invalid_grant"
    assert rows(site) == []


def test_a_code_that_comes_with_a_wrong_password_is_not_read(site):
    site.login(site.keys, password="not this one", otp="123456", status=400)
    assert "factor.failed" not in site.events()


def test_a_code_for_no_method_of_the_login_is_not_read(site):
    answer = begin(site, otp="123456")
    assert (answer["error"], codes_of(answer)) == ("mfa_required", [])


def test_the_resource_is_kept_for_the_second_step(site):
    resource(site, REPORTS, "a")
    token = begin(site, resource=REPORTS)["mfa_token"]
    assert go_on(site, token, status=400, resource=f"{REPORTS}other")["error"] == "invalid_target"
    go_on(site, token, resource=REPORTS.rstrip("/"))  # the same resource
    [family] = families(site)
    assert REPORTS in family.facts


def test_a_scope_that_the_client_has_lost_is_not_issued(site):
    token = begin(site, scope="a b")["mfa_token"]
    with site.db() as db:
        db.execute(update(Client).values(scope="a", default_scope="a"))
    assert go_on(site, token)["scope"] == "a"


def test_the_new_device_notice_is_sent_once_the_login_is_complete(site):
    site.mails()
    token = begin(site)["mfa_token"]
    assert site.mails() == []
    go_on(site, token)


def test_the_metadata_names_the_grants(site):
    found = site.http.get("/.well-known/oauth-authorization-server").json
    assert {MFA_GRANT, "urn:authsite:params:oauth:grant-type:passkey"} <= set(
        found["grant_types_supported"]
    )


REPORTS = "https://reports.example.com/"
WEB_LOGIN = {"username": "ann@example.com", "password": PASSWORD}


def of_web(site, path, body, status=200, **headers):
    return site.http.post_json(f"/v1/clients/web/{path}", body, status=status, headers=headers)


def test_the_proxy_sets_its_cookies_after_the_second_step(site):
    answer = of_web(site, "login", WEB_LOGIN, 400)
    assert answer.json["error"] == "mfa_required"
    assert "Set-Cookie" not in answer.headers
    body = {"mfa_token": answer.json["mfa_token"], "mfa_method": "word", "code": RIGHT}
    for sent in ({**body, "code": "five"}, {**body, "mfa_method": "totp"}):
        assert "Set-Cookie" not in of_web(site, "mfa", sent, 400).headers
    done = of_web(site, "mfa", body)
    assert "refreshToken=" in str(done.headers.getall("Set-Cookie"))
    assert of_web(site, "refresh", {}).json["access_token"]
    assert of_web(site, "mfa", body, 400).json["error"] == "invalid_grant"


def test_a_login_of_the_proxy_goes_on_only_there(site):
    token = of_web(site, "users/login", WEB_LOGIN, 400).json["mfa_token"]
    go_on(site, token, status=400)
    own = begin(site)["mfa_token"]
    body = {"mfa_method": "word", "code": RIGHT}
    assert of_web(site, "mfa", {**body, "mfa_token": own}, 400).json["error"] == "invalid_grant"
    of_web(site, "mfa", {**body, "mfa_token": token})


def test_a_page_of_another_site_cannot_give_the_second_step(site):
    token = of_web(site, "login", WEB_LOGIN, 400).json["mfa_token"]
    body = {"mfa_token": token, "mfa_method": "word", "code": RIGHT}
    foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    for path in ("mfa", "passkey-options", "passkey"):
        sent = {**body, "credential": {"id": "x"}}
        assert of_web(site, path, sent, 403, **foreign).json["error"] == "access_denied"
    of_web(site, "mfa", body)
