"""The api guard: a bearer token in the one Authorization header, and nothing else."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyramid.config import Configurator
from pyramid.response import Response
from webtest import TestApp

from authsite.users import service as users
from tests.support.acting import acting
from tests.support.site import PASSWORD, SECRET, bearer
from tests.support.statements import counted

pytestmark = pytest.mark.both_databases

REFUSED = {
    "message": "An exception occurred when trying to authenticate the user.",
    "errors": [],
}
NO_TOKEN = 'Bearer realm="authsite"'
BAD_TOKEN = 'Bearer realm="authsite", error="invalid_token"'
GUARDED = [
    ("GET", "/v1/user"),
    ("GET", "/v1/profile"),
    ("DELETE", "/v1/logout"),
    ("DELETE", "/v1/logout/"),
    ("HEAD", "/v1/user"),
]


@pytest.fixture
def token(site):
    site.user()
    return site.login(site.client())["access_token"]


def ask(site, authorization, status, method="GET", path="/v1/user"):
    headers = {} if authorization is None else {"Authorization": authorization}
    return site.http.request(path, method=method, headers=headers, status=status)


@pytest.mark.control("T21")
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR", "Bearer   "])
def test_the_scheme_may_be_written_in_any_case_and_with_several_blanks(site, token, scheme):
    ask(site, f"{scheme} {token}", 200)


@pytest.mark.control("T22")
@pytest.mark.parametrize(("method", "path"), GUARDED)
def test_without_a_token_the_answer_is_401_and_asks_for_one(site, method, path):
    answer = ask(site, None, 401, method, path)
    assert answer.headers["WWW-Authenticate"] == NO_TOKEN
    assert answer.headers["Cache-Control"] == "no-store"
    if method != "HEAD":
        assert answer.json == REFUSED


@pytest.mark.control("T22")
@pytest.mark.parametrize(("method", "path"), GUARDED)
def test_with_a_bad_token_the_answer_is_401_invalid_token(site, method, path):
    answer = ask(site, "Bearer at_rubbish", 401, method, path)
    assert answer.headers["WWW-Authenticate"] == BAD_TOKEN
    if method != "HEAD":
        assert answer.json == REFUSED


@pytest.mark.control("T22")
@pytest.mark.parametrize("header", ["Basic dTpw", "Digest x", "Token x", "Negotiate", "x", ""])
def test_another_scheme_counts_as_no_token(site, header):
    answer = ask(site, header, 401)
    assert answer.headers["WWW-Authenticate"] == NO_TOKEN
    assert answer.json == REFUSED


MALFORMED = [
    "Bearer",
    "Bearer ",
    "Bearer     ",
    "Bearer\t{token}",
    "Bearer{token}",
    "Bearer:{token}",
    "Bearer={token}",
    "Bearer {token} ",
    "Bearer {token},",
    "Bearer {token} {token}",
    "Bearer {token}, Bearer {token}",
    "Bearer {token}, Basic dTpw",
    "Basic dTpw, Bearer {token}",
    "Bearer Bearer {token}",
    'Bearer "{token}"',
    "Bearer token={token}",
    "Bearer <{token}>",
    "{token}",
    " Bearer {token}",
    "Bearer \xe4\xf6\xfc",
    "B\xe4rer {token}",
    "Bearer \x7f",
    "Bearer at_" + "A" * 88,
    "Bearer " + "A" * 512,
    "Bearer " + "A" * 513,
    "Bearer " + "A" * 100_000,
    "Bearer null",
    "Bearer at_%00",
]


@pytest.mark.control("T21")
@pytest.mark.parametrize("header", MALFORMED)
def test_a_malformed_header_is_401_without_a_query_and_never_500(site, token, header):
    with counted(site.database) as statements:
        answer = ask(site, header.format(token=token), 401)
    assert answer.json == REFUSED
    assert answer.headers["WWW-Authenticate"].startswith(NO_TOKEN)
    assert statements == []


@pytest.mark.control("T22")
def test_a_bearer_token_that_is_malformed_is_an_invalid_one(site):
    for header, challenge in (
        *(("Bearer " + "A" * 513, BAD_TOKEN), ("Bearer\tx", BAD_TOKEN), ("bearer,", BAD_TOKEN)),
        *(("BearerX", BAD_TOKEN), ("Beare", NO_TOKEN), ("Beares x", NO_TOKEN), ("a", NO_TOKEN)),
    ):
        assert ask(site, header, 401).headers["WWW-Authenticate"] == challenge, header


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(("", "Bearer ", "bearer at_", "Basic ", "Bearer\t")),
    st.text(alphabet=st.characters(max_codepoint=255, exclude_characters="\r\n\0"), max_size=120),
)
@pytest.mark.control("T21")
def test_no_header_whatsoever_makes_a_500(site, start, rest):
    assert ask(site, start + rest, 401).json == REFUSED


@pytest.mark.control("T21")
@pytest.mark.parametrize("name", ["access_token", "token", "bearer", "authorization"])
def test_a_token_in_the_query_or_a_cookie_is_not_seen(site, token, name):
    answer = site.http.get(f"/v1/user?{name}={token}", status=401)
    assert answer.headers["WWW-Authenticate"] == NO_TOKEN
    site.http.get("/v1/user", headers={"Cookie": f"{name}={token}"}, status=401)


@pytest.mark.control("T21")
def test_a_token_in_the_body_is_not_seen(site, token):
    for body in ({"access_token": token}, {"token": token}):
        site.http.delete("/v1/logout", body, status=401)
        site.http.delete_json("/v1/logout", body, status=401)
    site.me(token)


@pytest.mark.control("T21")
@pytest.mark.parametrize("header", ["X-Authorization", "Proxy-Authorization", "X-Access-Token"])
def test_a_token_in_another_header_is_not_seen(site, token, header):
    site.http.get("/v1/user", headers={header: f"Bearer {token}"}, status=401)


def test_a_refused_logout_ends_nothing(site, token):
    ask(site, None, 401, "DELETE", "/v1/logout")
    ask(site, "Bearer x", 401, "DELETE", "/v1/logout")
    site.me(token)


def test_the_user_endpoint_shows_exactly_the_user_object(site, token):
    for path in ("/v1/user", "/v1/profile"):
        answer = ask(site, f"Bearer {token}", 200, path=path)
        assert set(answer.json) == {
            *("id", "email", "username", "phone", "name"),
            *("confirmed", "email_verified_at", "created_at", "updated_at"),
        }
        assert answer.headers["Cache-Control"] == "no-store"


# A host application, with what issue 2's own routes do not ask for: scopes and verified users.


@pytest.fixture(scope="session")
def hosts(sites):
    """A host's application by authsite's settings, on the database of ``site``."""
    made = {}

    def host(**settings):
        key = tuple(sorted(settings.items()))
        if key not in made:
            given = {
                f"authsite.{name.replace('_', '-')}": value for name, value in settings.items()
            }
            config = Configurator(
                settings={
                    "authsite.secret": SECRET,
                    "authsite.database-url": sites().url,
                    "authsite.bcrypt-cost": "10",
                    "authsite.limits": "off",
                    "tm.manager_hook": "pyramid_tm.explicit_manager",
                    "tm.annotate_user": "false",
                    **given,
                }
            )
            config.include("authsite")
            config.add_route("reports", "/v1/reports", guard="api", scope="reports:read")
            config.add_route("both", "/v1/both", guard="api", scope="a reports:read")
            config.add_route("plain", "/v1/plain", guard="api")
            config.add_route("proved", "/v1/proved", guard="api", verified=True)
            for name in ("reports", "both", "plain", "proved"):
                config.add_view(lambda _request: Response("in"), route_name=name)
            made[key] = TestApp(config.make_wsgi_app())
        return made[key]

    return host


def machine(site, scope):
    keys = site.client("personal", scope=scope, default_scope=scope)
    return bearer(site.token(keys, grant_type="client_credentials").json["access_token"])


@pytest.mark.control("T22")
@pytest.mark.parametrize("scope", ["", "a", "reports", "reports:write", "reports:readx"])
def test_a_token_that_lacks_the_scope_is_403_and_told_which(site, hosts, scope):
    answer = hosts().get("/v1/reports", headers=machine(site, scope), status=403)
    assert answer.headers["WWW-Authenticate"] == (
        'Bearer error="insufficient_scope", scope="reports:read"'
    )
    assert set(answer.json) == {"message", "errors"}
    [error] = answer.json["errors"]
    assert (error["code"], error["field"]) == ("insufficient_scope", None)
    assert error["message"] == answer.json["message"]


def test_a_token_with_the_scope_comes_in(site, hosts):
    assert hosts().get("/v1/reports", headers=machine(site, "a reports:read")).text == "in"


def test_a_route_with_two_scopes_asks_for_both(site, hosts):
    for scope in ("a", "reports:read"):
        hosts().get("/v1/both", headers=machine(site, scope), status=403)
    hosts().get("/v1/both", headers=machine(site, "reports:read a"))


def test_a_narrowed_token_loses_what_it_gave_up(site, hosts, frozen):
    keys = site.client("personal", scope="a reports:read", default_scope="a reports:read")
    first = site.token(keys, grant_type="client_credentials").json
    narrow = site.refresh(keys, first["refresh_token"], scope="a")
    hosts().get("/v1/reports", headers=bearer(narrow["access_token"]), status=403)
    hosts().get("/v1/reports", headers=bearer(first["access_token"]), status=401)


@pytest.mark.control("T22")
@pytest.mark.parametrize("path", ["/v1/reports", "/v1/plain", "/v1/proved"])
def test_in_a_host_a_stranger_gets_401_before_anything_else(site, hosts, path):
    answer = hosts().get(path, status=401)
    assert answer.json == REFUSED
    assert answer.headers["WWW-Authenticate"] == NO_TOKEN


@pytest.mark.control("T20")
def test_a_verified_route_takes_only_confirmed_users_and_at_once(site, hosts):
    user = site.user()
    headers = bearer(site.login(site.client())["access_token"])
    answer = hosts().get("/v1/proved", headers=headers, status=403)
    assert answer.json["errors"][0]["code"] == "email_not_verified"
    with site.db() as db:
        users.confirm(acting(db), user)
    assert hosts().get("/v1/proved", headers=headers).text == "in"


def test_a_verified_route_is_for_users_and_a_client_token_is_told_so(site, hosts):
    answer = hosts().get("/v1/proved", headers=machine(site, ""), status=403)
    assert answer.json["errors"][0]["code"] == "user_required"


def test_with_verification_switched_off_a_verified_route_takes_everyone(site, hosts):
    site.user()
    headers = bearer(site.login(site.client())["access_token"])
    hosts(require_email_verification="false").get("/v1/proved", headers=headers, status=200)


@pytest.mark.control("T20")
def test_in_variant_b_an_unconfirmed_user_is_refused_everywhere_but_at_logout(site, site_with):
    strict = site_with(variant="B", require_email_confirmation="true")
    site.user(password=PASSWORD)
    tokens = site.login(site.client())  # a token from before confirmation was asked for
    answer = strict.me(tokens["access_token"], status=403)
    assert answer.json["errors"][0]["code"] == "email_not_confirmed"
    strict.logout(tokens["access_token"])
    site.me(tokens["access_token"], status=401)
