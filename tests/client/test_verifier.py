"""The verifier on an introspection endpoint: identities, scopes, and what the server is sent."""

import logging
from base64 import b64decode

import pytest

from authsite_client import Identity, InsufficientScope, InvalidToken, Service, Verifier
from tests.client.conftest import CLAIMS, CLIENT, active


def test_an_active_token_has_an_identity(verifier):
    assert verifier.verify("at_1") == Identity(
        sub=CLAIMS["sub"],
        username="ann@example.com",
        scope=("notes:read", "notes:write"),
        client_id=CLAIMS["client_id"],
        owner="user",
        exp=4_000_000_000,
        email="ann@example.com",
        email_verified=True,
    )


def test_a_token_of_a_client_has_no_user(server, verifier):
    claims = {"active": True, "token_type": "Bearer", "owner": "client", "sub": "c"}
    server.respond = lambda request: (200, {}, claims)
    identity = verifier.verify("at_1")
    assert (identity.username, identity.owner, identity.scope) == (None, "client", ())


def test_the_client_authenticates_and_sends_the_token_in_the_body(server, verifier):
    verifier.verify("at_+/=")
    [request] = server.requests
    assert (request.command, request.path) == ("POST", "/v1/oauth/introspect")
    assert request.form == {"token": "at_+/=", "token_type_hint": "access_token"}
    scheme, credentials = request.headers["Authorization"].split()
    assert (scheme, b64decode(credentials)) == ("Basic", ":".join(CLIENT).encode())


def test_a_path_of_the_service_comes_first(server, verifier_of):
    verifier_of(f"{server.url}/auth/").verify("at_1")
    assert server.requests[0].path == "/auth/v1/oauth/introspect"


def test_a_token_that_is_not_active_is_invalid(verifier):
    with pytest.raises(InvalidToken):
        verifier.verify("dead_1")


@pytest.mark.parametrize("token_type", ["N_A", "refresh_token", "mac", None])
def test_a_token_of_another_type_is_invalid(server, verifier, token_type):
    server.respond = lambda request: active(request, token_type=token_type)
    with pytest.raises(InvalidToken):
        verifier.verify("at_1")


@pytest.mark.parametrize("token", ["", "a b", "x" * 4097, "rt_abc", "a\n"])
def test_what_cannot_be_a_token_is_not_sent(server, verifier, token):
    with pytest.raises(InvalidToken):
        verifier.verify(token)
    assert server.requests == []


@pytest.mark.parametrize("scope", ["", "notes:read", "notes:write notes:read"])
def test_a_token_with_the_scope_passes(verifier, scope):
    assert verifier.verify("at_1", scope).sub == CLAIMS["sub"]


@pytest.mark.parametrize("scope", ["notes", "notes:read notes:delete", "NOTES:READ"])
def test_a_token_without_the_scope_does_not_pass(verifier, scope):
    for _ in range(2):  # from the service, then from the cache
        with pytest.raises(InsufficientScope) as raised:
            verifier.verify("at_1", scope)
    expected = f'Bearer realm="authsite", error="insufficient_scope", scope="{scope}"'
    assert raised.value.challenge == expected


def test_no_log_line_has_a_token_or_a_secret(server, verifier, caplog):
    caplog.set_level(logging.DEBUG)
    server.respond = lambda request: (500, {}, {"token": request.form["token"]})
    with pytest.raises(Exception, match="not available"):
        verifier.verify("at_hidden")
    assert "status 500" in caplog.text
    assert "hidden" not in caplog.text
    assert CLIENT[1] not in caplog.text


@pytest.mark.parametrize(
    "url",
    [
        "http://auth.example.org",
        "http://127.0.0.1.example.org",
        "ftp://localhost",
        "auth.example.org",
        "https://",
        "https://user@auth.example.org",
        "https://auth.example.org?x=1",
        "https://auth.example.org#x",
        "https://auth.example.org:port",
        f"https://{'x' * 70}.example.org",
    ],
)
def test_a_url_that_cannot_be_used_is_an_error_at_once(url):
    with pytest.raises(ValueError, match=r".+"):
        Verifier(url, *CLIENT)


@pytest.mark.parametrize(
    "service",
    [
        "https://auth.example.org/auth",
        "http://localhost:6543",
        "http://[::1]:6543",
        Service("http://auth.internal:6543", allow_http=True),
    ],
)
def test_https_is_required_but_for_this_machine_or_on_request(service):
    Verifier(service, *CLIENT).close()


@pytest.mark.parametrize(
    "options", [{"cache": -1}, {"cache": float("inf")}, {"cache": float("nan")}, {"max_entries": 0}]
)
def test_a_cache_without_bounds_is_an_error(options):
    with pytest.raises(ValueError, match="max_entries"):
        Verifier("https://auth.example.org", *CLIENT, **options)


@pytest.mark.parametrize("keys", [("", "secret"), ("id", "")])
def test_missing_credentials_are_an_error_at_once(keys):
    with pytest.raises(ValueError, match="resource-server"):
        Verifier("https://auth.example.org", *keys)
