"""Forward auth: `acr`, `fresh`, and the headers that tell level, methods and time."""

import pytest
from sqlalchemy import update

from authsite.platform.runtime import clock
from authsite.sign_in.credentials import pack
from authsite.sign_in.sessions.models import BrowserSession
from tests.support.site import PASSWORD, bearer

from .people import OURS, challenge, enter

PAGE = {"X-Forwarded-Proto": "http", "X-Forwarded-Host": "localhost", "X-Forwarded-Uri": "/x?y=1"}


def told(answer):
    return tuple(answer.headers[f"X-Auth-{name}"] for name in ("Acr", "Amr", "Time"))


@pytest.fixture
def proxied(host):
    site = host(trusted_proxies="192.0.2.1")
    site.ann = site.user(confirmed=True)
    return site


def test_the_headers_tell_level_methods_and_time(proxied, frozen):
    enter(proxied, "pwd", "recovery")
    now = str(int(clock.now().timestamp()))
    frozen.advance(5)
    answer = proxied.http.get("/v1/guard/web", status=204)
    assert told(answer) == ("aal2", "pwd otp mfa", now)
    assert told(proxied.http.get("/v1/guard/web?acr=aal2&fresh=1m")) == ("aal2", "pwd otp mfa", now)
    headers = bearer(proxied.login(proxied.client())["access_token"])
    answer = proxied.http.get("/v1/guard/api", headers=headers, status=204)
    assert told(answer) == ("aal1", "pwd", str(int(clock.now().timestamp())))


def test_without_a_sign_in_they_are_empty(proxied):
    assert told(proxied.http.get("/v1/guard/web?anonymous=1", status=204)) == ("", "", "")
    machine = proxied.token(proxied.client("personal"), grant_type="client_credentials").json
    headers = bearer(machine["access_token"])
    assert told(proxied.http.get("/v1/guard/api", headers=headers, status=204)) == ("", "", "")
    refused = proxied.http.get("/v1/guard/api?acr=aal2", headers=headers, status=403)
    assert refused.json["errors"][0]["code"] == "user_required"


def test_a_low_level_carries_the_url_of_the_page_that_asks(proxied):
    enter(proxied, "pwd")
    answer = proxied.http.get("/v1/guard/web?acr=aal2", headers=PAGE, status=401)
    assert answer.headers["WWW-Authenticate"] == challenge("aal2")
    url = f"{OURS}/login/verify?next=%2Fx%3Fy%3D1&acr_values=aal2"
    assert answer.headers["X-Auth-Login-Url"] == url
    browser = {**PAGE, "Accept": "text/html"}
    moved = proxied.http.get("/v1/guard/web?acr=aal2&redirect=1", headers=browser, status=302)
    assert moved.location == url
    with proxied.db() as db:
        db.execute(update(BrowserSession).values(facts=pack(("pop", "user"))))
    proxied.http.get("/v1/guard/web?acr=phr", headers=PAGE, status=204)


def test_an_old_proof_does_too(proxied, frozen):
    enter(proxied, "pwd")
    proxied.http.get("/v1/guard/web?fresh=10m", headers=PAGE, status=204)
    frozen.advance(600)
    answer = proxied.http.get("/v1/guard/web?fresh=10m", headers=PAGE, status=401)
    assert answer.headers["X-Auth-Login-Url"].endswith("&max_age=600")


def test_a_token_of_a_low_level_gets_no_page(proxied):
    headers = bearer(proxied.login(proxied.client())["access_token"])
    answer = proxied.http.get("/v1/guard/api?acr=aal2", headers=headers, status=401)
    assert answer.headers["WWW-Authenticate"] == challenge("aal2")
    assert "X-Auth-Login-Url" not in answer.headers


@pytest.mark.parametrize("query", ["acr=aal1", "acr=", "acr=aal2&acr=phr", "fresh=10", "fresh="])
@pytest.mark.parametrize("guard", ["api", "web"])
def test_a_value_that_is_none_is_refused_first(proxied, guard, query):
    proxied.http.get(f"/v1/guard/{guard}?{query}", status=400)


def test_introspection_and_the_list_of_sessions_tell_the_same(proxied):
    keys = proxied.client()
    token = proxied.login(keys)["access_token"]
    now = int(clock.now().timestamp())
    found = proxied.introspect(keys, token)
    assert (found["acr"], found["amr"], found["auth_time"]) == ("aal1", ["pwd"], now)
    [listed] = proxied.http.get("/v1/user/sessions", headers=bearer(token)).json["sessions"]
    assert (listed["acr"], listed["amr"], listed["auth_time"]) == ("aal1", ["pwd"], now)
    asked = {"name": "backup", "current_password": PASSWORD}
    made = proxied.http.post_json("/v1/user/tokens", asked, headers=bearer(token)).json
    of_personal = proxied.introspect(proxied.client("resource-server"), made["token"])
    assert not {"acr", "amr", "auth_time"} & set(of_personal)
