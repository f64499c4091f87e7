"""The guard of a path that takes a token or a browser session: `guard="any"`, `/v1/guard/any`."""

import pytest
from pyramid.exceptions import ConfigurationError
from webtest import TestApp

from tests.support.host import route
from tests.support.pages import sign_in
from tests.support.site import bearer

ANY = "/v1/guard/any"
PAGE = {"Accept": "text/html"}


@pytest.fixture
def ann(site):
    made = site.user(confirmed=True)
    site.id = str(made.id)
    return site


def token(site, **options):
    return bearer(site.login(site.client(**options))["access_token"])


def test_a_token_and_a_session_have_the_headers_of_their_guards(ann):
    headers = token(ann, scope="reports:read", default_scope="reports:read")
    by_token = ann.http.get(ANY, headers=headers, status=204).headers
    assert (by_token["X-Auth-User"], by_token["X-Auth-Scope"]) == (ann.id, "reports:read")
    sign_in(ann)
    by_session = ann.http.get(ANY, status=204).headers
    assert (by_session["X-Auth-User"], by_session["X-Auth-Scope"]) == (ann.id, "")
    assert by_session["X-Auth-Acr"] == "aal1"


def test_a_token_that_is_sent_decides(ann):
    """The caller has said who it is: the session of another user takes no one's place."""
    headers = token(ann)
    ann.user("bo@example.com", confirmed=True)
    sign_in(ann, "bo@example.com")
    assert (
        ann.http.get(ANY, headers=headers, status=204).headers["X-Auth-Email"] == "ann@example.com"
    )
    for sent in ("Bearer at_x", "Bearer", "bearer:x", "Bearer\tx"):
        refused = ann.http.get(ANY, headers={"Authorization": sent, **PAGE}, status=401)
        assert 'error="invalid_token"' in refused.headers["WWW-Authenticate"]
    # That of the application behind the proxy is none of ours.
    ann.http.get(ANY, headers={"Authorization": "Basic dTpw"}, status=204)


def test_neither_is_401_with_both_ways_in(ann):
    refused = ann.http.get(ANY, status=401)
    assert refused.headers["WWW-Authenticate"] == 'Bearer realm="authsite"'
    assert refused.headers["X-Auth-Login-Url"].endswith("/login")
    led = ann.http.get(f"{ANY}?redirect=1", headers=PAGE, status=302)
    assert led.location.endswith("/login")
    ann.http.get(f"{ANY}?redirect=1", headers={"Accept": "*/*"}, status=401)
    ann.http.get(f"{ANY}?anonymous=1", status=204)


def test_scope_and_caller_are_about_tokens(ann):
    query = f"{ANY}?scope=reports:read&caller=user"
    ann.http.get(query, headers=token(ann), status=403)
    sign_in(ann)
    ann.http.get(query, status=204)
    ann.http.reset()
    machine = ann.token(ann.client("personal"), grant_type="client_credentials").json
    ann.http.get(f"{ANY}?caller=user", headers=bearer(machine["access_token"]), status=403)
    ann.http.get(f"{ANY}?caller=any", headers=bearer(machine["access_token"]), status=204)


@pytest.mark.parametrize("query", ["caller=client", "scop=x", "scope=a&scope=b", "acr=aal9"])
def test_a_requirement_that_cannot_be_checked_is_400(ann, query):
    sign_in(ann)
    ann.http.get(f"{ANY}?{query}", status=400)


@pytest.mark.parametrize("query", ["verified=1", "group=ops", "acr=aal2", "fresh=10m&acr=phr"])
def test_the_rules_bind_both(site_with, query):
    site = site_with()
    site.user()  # neither confirmed nor in the group
    headers = token(site)
    by_token = site.http.get(f"{ANY}?{query}", headers=headers, status=(401, 403))
    sign_in(site)
    by_session = site.http.get(f"{ANY}?{query}", status=(401, 403))
    assert by_token.status_int == by_session.status_int
    assert by_token.json["errors"] == by_session.json["errors"]


def test_a_route_of_a_host(host_with):
    site = host_with(route("/both", guard="any", scope="reports:read"))
    site.user()
    with_scope = token(site, scope="reports:read", default_scope="reports:read")
    site.http.get("/both", headers=with_scope, status=200)
    site.http.get("/both", headers=token(site, name="other"), status=403)
    stranger = TestApp(site.app)
    assert stranger.get("/both", headers=PAGE, status=302).location.endswith("/login?next=/both")
    refused = stranger.get("/both", headers={"Accept": "application/json"}, status=401)
    assert refused.headers["WWW-Authenticate"].startswith("Bearer")
    wrong = stranger.get("/both", headers={"Authorization": "Bearer x", **PAGE}, status=401)
    assert wrong.content_type == "application/json"
    sign_in(site)
    site.http.get("/both", headers=PAGE, status=200)


def test_a_session_is_no_client(host_with):
    with pytest.raises(ConfigurationError, match="which always act for a user"):
        host_with(route(guard="any", caller="client"))
