"""Forward auth: what a reverse proxy is told of a token or a browser session."""

from urllib.parse import unquote

import pytest
from sqlalchemy import select

from authsite.oauth.models import Client, Family
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users import service as users
from authsite.users.models import User
from tests.openapi.test_document import OTHERS
from tests.support.acting import acting
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, bearer
from tests.support.statements import counted

API, WEB = "/v1/guard/api", "/v1/guard/web"
NAMES = (
    *("X-Auth-User", "X-Auth-Email", "X-Auth-Email-Verified"),
    *("X-Auth-Client", "X-Auth-Scope", "X-Auth-Groups"),
)


def identity(answer):
    """The values of the six headers, each of which is there once."""
    assert answer.status_int == 204
    assert answer.body == b""
    return [*(value for name in NAMES for value in answer.headers.getall(name))]


def token_of(site):
    keys = site.client(scope="reports:read", default_scope="reports:read")
    return site.login(keys)["access_token"]


def codes(answer):
    return [item["code"] for item in answer.json["errors"]]


def confirm(site):
    with site.db() as db:
        users.confirm(acting(db), users.find(db, "ann@example.com"))


def test_a_token_tells_user_email_client_and_scope(site):
    ann = site.user(confirmed=True)
    keys = site.client(scope="b a", default_scope="b a")
    answer = site.http.get(API, headers=bearer(site.login(keys)["access_token"]))
    assert identity(answer) == [str(ann.id), "ann@example.com", "true", keys.client_id, "b a", ""]


def test_a_browser_session_tells_the_user_and_has_neither_client_nor_scope(site):
    ann = site.user(confirmed=True)
    sign_in(site)
    assert identity(site.http.get(WEB)) == [str(ann.id), "ann@example.com", "true", "", "", ""]


@pytest.mark.parametrize("cache", ["0s", "60s"])
def test_f1_an_address_that_is_not_confirmed_is_no_identity(site_with, cache):
    site = site_with(guard_cache=cache)
    ann = site.user()
    headers = bearer(token_of(site))
    sign_in(site)
    for path in (API, WEB):
        for _ in range(2):  # the second one comes from memory, if there is one
            told = identity(site.http.get(path, headers=headers))
            assert told[:3] == [str(ann.id), "", "false"]


def test_a_client_without_a_user_tells_the_client_alone(site):
    keys = site.client("personal", scope="a", default_scope="a")
    token = site.token(keys, grant_type="client_credentials").json["access_token"]
    assert identity(site.http.get(API, headers=bearer(token))) == [
        "",
        "",
        "",
        keys.client_id,
        "a",
        "",
    ]


@pytest.mark.parametrize(
    ("email", "header"),
    [
        ("o'hara+x=1@example.com", "o'hara+x=1@example.com"),
        ("a%41@example.com", "a%2541@example.com"),
        ("jörg@müller.example", "j%C3%B6rg@m%C3%BCller.example"),
        ("a\r\nX-Auth-User: b@x", "a%0D%0AX-Auth-User:%20b@x"),
    ],
)
def test_an_address_is_ascii_in_the_header_and_decodes_to_itself(site, email, header):
    site.user(confirmed=True)
    token = token_of(site)
    with site.db() as db:
        db.scalars(select(User)).one().email = email
    sent = site.http.get(API, headers=bearer(token)).headers["X-Auth-Email"]
    assert sent == header
    assert unquote(sent) == email


def test_a_cookie_never_opens_the_api_nor_a_token_the_pages(site):
    site.user()
    token = token_of(site)
    site.http.get(WEB, headers=bearer(token), status=401)
    sign_in(site)
    site.http.get(API, status=401)
    site.http.get(API, headers={"Authorization": "Basic YTpi"}, status=401)


def test_without_a_token_the_answer_is_that_of_every_guarded_route(site):
    for header in ({}, bearer("at_x"), {"Authorization": "Bearer"}):
        own = site.http.get(API, headers=header, status=401)
        user = site.http.get("/v1/user", headers=header, status=401)
        assert own.json == user.json
        assert own.headers["WWW-Authenticate"] == user.headers["WWW-Authenticate"]
        assert not set(own.headers) & {*NAMES, "X-Auth-Login-Url"}


def test_without_a_session_there_is_a_login_url_and_with_redirect_it_is_the_location(site):
    answer = site.http.get(WEB, status=401)
    assert answer.headers["X-Auth-Login-Url"] == "http://localhost/login"
    assert answer.json["errors"] == []
    for value in ("1", "true"):
        answer = site.http.get(f"{WEB}?redirect={value}", status=302)
        assert answer.headers["Location"] == "http://localhost/login"
    assert not set(answer.headers) & set(NAMES)


def test_what_ends_a_token_or_session_is_seen_by_the_next_request(site):
    site.user()
    headers = bearer(token_of(site))
    sign_in(site)
    cookie = {"Cookie": "; ".join(f"{c.name}={c.value}" for c in site.http.cookiejar)}
    assert site.http.get(API, headers=headers).status_int == 204
    site.http.delete("/v1/logout", headers=headers)
    site.http.get(API, headers=headers, status=401)
    submit(site, "/logout")
    site.http.reset()
    site.http.get(WEB, headers=cookie, status=401)


@pytest.mark.parametrize("ended", ["user", "client"])
def test_a_disabled_user_or_client_is_refused_at_once(site, ended):
    site.user()
    headers = bearer(token_of(site))
    with site.db() as db:
        row = db.scalars(select(User if ended == "user" else Client)).one()
        row.epoch += 1
    site.http.get(API, headers=headers, status=401)


def test_a_request_is_one_statement_and_a_forged_token_none(site):
    site.user()
    headers = bearer(token_of(site))
    sign_in(site)
    for path in (f"{API}?scope=reports:read&verified=1", f"{WEB}?verified=1"):
        confirm(site)
        with counted(site.database) as statements:
            site.http.get(path, headers=headers, status=204)
        assert len([each for each in statements if each.lower().startswith("select")]) == 1
        assert len(statements) == 1
    site.http.reset()
    with counted(site.database) as statements:
        site.http.get(API, headers=bearer("at_" + "A" * 88), status=401)
        site.http.get(WEB, status=401)
    assert statements == []


def test_no_answer_sets_a_cookie_or_may_be_stored(site):
    site.user()
    headers = bearer(token_of(site))
    paths = (API, WEB, f"{WEB}?redirect=1", f"{WEB}?a=b", f"{API}?scope=x")
    answers = [site.http.get(path, headers=headers, status="*") for path in paths]
    sign_in(site)
    answers.append(site.http.get(WEB))
    assert [answer.status_int for answer in answers] == [204, 401, 302, 400, 403, 204]
    for answer in answers:
        assert "Set-Cookie" not in answer.headers
        assert answer.headers.getall("Cache-Control") == ["no-store"]


def test_head_answers_like_get_and_other_methods_are_405(site):
    site.user()
    headers = bearer(token_of(site))
    sign_in(site)
    for path in (API, WEB):
        assert identity(site.http.head(path, headers=headers))
        for method in (OTHERS | {"OPTIONS"}) - {"GET"}:
            answer = site.http.request(path, method=method, headers=headers, status=405)
            assert answer.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", [API, WEB])
def test_a_preflight_is_no_2xx_since_that_would_let_a_request_pass(site_with, path):
    site = site_with(cors_origins="https://app.example.org")
    headers = {"Origin": "https://app.example.org", "Access-Control-Request-Method": "DELETE"}
    answer = site.http.options(path, headers=headers, status=405)
    assert "Access-Control-Allow-Origin" not in answer.headers
    assert "Access-Control-Allow-Origin" not in site.http.get(path, headers=headers, status=401)


def test_the_header_for_https_is_not_sent_to_the_host_of_an_application(site_with):
    site = site_with(base_url="https://auth.example.org", hsts="subdomains")
    assert "Strict-Transport-Security" in site.http.get("/login").headers
    for path in (API, WEB, f"{WEB}?redirect=1"):
        answer = site.http.get(path, status="*")
        assert "Strict-Transport-Security" not in answer.headers


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Length": "5000"},
        {"Content-Length": "99999999"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/json; charset=nonsense"},
        {"Content-Encoding": "gzip"},
        {"Expect": "100-continue"},
        {"Range": "bytes=0-1", "If-None-Match": "*", "If-Modified-Since": "x"},
        {"Connection": "Upgrade", "Upgrade": "websocket"},
    ],
)
def test_headers_about_a_body_that_is_not_sent_change_nothing(site, headers):
    site.user(confirmed=True)
    headers = bearer(token_of(site)) | headers
    sign_in(site)
    for path in (API, WEB):
        assert identity(site.http.get(path, headers=headers))[1] == "ann@example.com"


def test_the_last_use_of_a_token_or_session_is_noted(site, frozen):
    site.user()
    headers = bearer(token_of(site))
    sign_in(site)
    frozen.advance(2 * 60 * 60)
    site.http.get(API, headers=headers)
    site.http.get(WEB)
    site.http.get(API, headers=headers)  # without a thread, the next use of an hour writes
    with site.db() as db:
        for column in (Family.used_at, BrowserSession.used_at):
            assert db.scalars(select(column)).one() == frozen.now().replace(minute=0)


@pytest.mark.parametrize("name", ["X-Forwarded-Method", "X-Original-Method"])
def test_with_a_cache_requests_that_may_change_something_ask_the_database(site_with, name):
    site = site_with(guard_cache="60s")
    site.user()
    sign_in(site)
    headers = bearer(token_of(site))
    for path in (API, WEB):
        site.http.get(path, headers=headers)
        for method, queries in (("GET", 0), ("HEAD", 0), ("POST", 1), ("delete", 1)):
            site.http.get(path, headers=headers)
            with counted(site.database) as statements:
                site.http.get(path, headers=headers | {name: method}, status=204)
            assert len(statements) == queries, method
    with site.db() as db:
        db.scalars(select(User)).one().epoch += 1
    for path in (API, WEB):
        site.http.get(path, headers=headers | {name: "POST"}, status=401)
        site.http.get(path, headers=headers, status=401)


def guarded_host(config):
    """Everything of a host that could come in the way."""
    config.set_default_permission("never")
    config.set_default_csrf_options(require_csrf=True)


def test_in_a_host_application_it_works_below_the_prefix(host_with):
    site = host_with(guarded_host, prefix="sso", allows=False)
    site.user(confirmed=True)
    token = site.http.post(
        "/sso/v1/oauth/token",
        site.client().form(grant_type="password", username="ann@example.com", password=PASSWORD),
    ).json["access_token"]
    assert identity(site.http.get(f"/sso{API}", headers=bearer(token)))[1] == "ann@example.com"
    answer = site.http.get(f"/sso{WEB}?redirect=1", status=302)
    assert answer.headers["Location"] == "http://localhost/sso/login"
