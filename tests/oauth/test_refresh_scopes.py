"""A refresh leaves out what the sign-in left out: libraries send the configured scope at both."""

from urllib.parse import urlsplit

import pytest
import requests
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session as AuthlibSession
from oauthlib.oauth2 import InvalidScopeError
from requests.adapters import BaseAdapter
from requests_oauthlib import OAuth2Session

from tests.support import devices
from tests.support.applications import resource
from tests.support.authorizing import BASE, OPENID, application, code_for, redeemed, sign_in

API = "https://api.example.org/"
TOKEN = f"{BASE}/v1/oauth/token"


class Adapter(BaseAdapter):
    """Sends the requests of a library to the application in this process."""

    def __init__(self, site):
        super().__init__()
        self.site = site

    def send(self, request, **_options):
        headers = {name: str(value) for name, value in request.headers.items()}
        path = f"{BASE}{urlsplit(request.url).path}"
        answer = self.site.http.post(path, request.body, headers=headers, status="*")
        response = requests.Response()
        response.status_code, response._content = answer.status_int, answer.body
        response.headers.update(answer.headers)
        response.request, response.url = request, request.url
        return response

    def close(self):
        pass


@pytest.fixture
def site(site_with):
    scopes = "notes:read: Read\nnotes:write: Write\nreports [groups]: Reports"
    made = site_with(**OPENID, scopes=scopes)
    made.user(confirmed=True)
    sign_in(made)
    return made


def refresh(site, app, tokens, scope, status=200):
    form = {
        "grant_type": "refresh_token",
        "refresh_token": tokens["refresh_token"],
        "scope": scope,
        "client_id": app.client_id,
        "client_secret": app.client_secret,
    }
    return site.http.post(TOKEN, form, status=status).json


def signed_in(site, app, scope, **asked):
    return redeemed(site, app, code_for(site, app, scope=scope, **asked))


def by_requests_oauthlib(site, app, scope, tokens):
    session = OAuth2Session(app.client_id, scope=scope.split(), token=tokens)
    session.mount("https://", Adapter(site))
    return session.refresh_token(TOKEN, client_id=app.client_id, client_secret=app.client_secret)


def by_authlib(site, app, scope, tokens):
    session = AuthlibSession(
        app.client_id,
        app.client_secret,
        scope=scope,
        token=tokens,
        token_endpoint_auth_method="client_secret_post",
    )
    session.mount("https://", Adapter(site))
    return session.refresh_token(TOKEN, refresh_token=tokens["refresh_token"])


LIBRARIES = pytest.mark.parametrize(
    ("by", "error"), [(by_requests_oauthlib, InvalidScopeError), (by_authlib, OAuthError)]
)


@LIBRARIES
@pytest.mark.parametrize("scope", ["openid email roles", "openid email address nope"])
def test_a_library_with_an_unknown_scope_goes_on_after_the_first_hour(
    site, monkeypatch, by, error, scope
):
    monkeypatch.setenv("OAUTHLIB_RELAX_TOKEN_SCOPE", "1")  # as for the sign-in
    app = application(site)
    tokens = signed_in(site, app, scope)
    assert tokens["scope"] == "openid email"
    for _ in range(2):
        tokens = dict(by(site, app, scope, tokens))
        told = tokens["scope"]
        assert (told.split() if isinstance(told, str) else told) == ["openid", "email"]


@LIBRARIES
def test_a_library_that_asks_for_more_than_was_granted_is_refused(site, by, error):
    app = application(site, scope="notes:read")
    tokens = signed_in(site, app, "openid email")
    with pytest.raises(error):
        by(site, app, "openid email notes:read", tokens)


def test_what_the_resource_does_not_have_is_left_out(site):
    resource(site, API, "notes:read")
    app = application(site, scope="notes:read notes:write")
    scope = "notes:read notes:write"
    tokens = signed_in(site, app, scope, resource=API)
    assert tokens["scope"] == "notes:read"
    assert refresh(site, app, tokens, scope)["scope"] == "notes:read"


def test_a_device_gets_what_it_got_before(site):
    tool = devices.tool(site)
    scope = "openid email nope"
    started = devices.start(site, tool, scope=scope)
    devices.allow(site, started)
    tokens = devices.poll(site, tool, started)
    form = {
        "grant_type": "refresh_token",
        "refresh_token": tokens["refresh_token"],
        "scope": scope,
        "client_id": tool.client_id,
    }
    assert site.http.post(TOKEN, form).json["scope"] == "openid email"


def test_what_no_group_of_the_user_gives_is_left_out(site):
    app = application(site, scope="notes:read reports")
    scope = "openid notes:read reports"
    tokens = signed_in(site, app, scope)
    assert tokens["scope"] == "openid notes:read"
    assert refresh(site, app, tokens, scope)["scope"] == "openid notes:read"


def test_a_refresh_may_ask_for_less_and_then_for_all_of_it_again(site):
    app = application(site, scope="notes:read")
    tokens = signed_in(site, app, "openid notes:read")
    tokens = refresh(site, app, tokens, "openid")
    assert "scope" not in tokens  # what was requested
    assert refresh(site, app, tokens, "openid notes:read nope")["scope"] == "openid notes:read"


@pytest.mark.parametrize(
    ("granted", "asked"),
    [
        ("notes:read", "notes:read nope"),  # OAuth alone ignores none
        ("notes:read", "notes:read email"),
        ("openid", "openid notes:read"),
        ("openid", "openid notes:write"),  # the client may not have it
        ("openid", "openid account"),
        ("openid", "openid reports"),  # nor this one, which no group gives either
        ("notes:read", "nope"),
    ],
)
def test_all_else_stays_invalid(site, granted, asked):
    app = application(site, scope="notes:read")
    tokens = signed_in(site, app, granted)
    assert refresh(site, app, tokens, asked, 400)["error"] == "invalid_scope"
