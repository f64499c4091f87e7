"""Clients that others wrote, as they are used: requests-oauthlib and Authlib on a real server."""

from time import time

import pytest
import requests
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.httpx_client import OAuth2Client
from authlib.integrations.requests_client import OAuth2Session as AuthlibSession
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url
from oauthlib.oauth2 import BackendApplicationClient, LegacyApplicationClient
from oauthlib.oauth2.rfc6749.errors import InvalidClientError, InvalidGrantError
from requests_oauthlib import OAuth2Session

from tests.support import databases
from tests.support.servers import serving, write_ini
from tests.support.site import PASSWORD, Site

pytestmark = pytest.mark.slow
ANN = {"username": "ann@example.com", "password": PASSWORD}


@pytest.fixture(scope="module")
def server(backend, tmp_path_factory):
    """A running server with Ann, a password client and a personal one."""
    folder = tmp_path_factory.mktemp("clients")
    url = databases.migrated(databases.new_url(backend, folder, folder.name))
    site = Site(url)
    site.user(confirmed=True)
    with serving(write_ini(folder, url), workers=2) as http:
        http.url = str(http.base_url)
        http.token_url = f"{http.url}/v1/oauth/token"
        http.web = site.client("password", scope="notes:read notes:write")
        http.machine = site.client("personal", scope="notes:read", default_scope="notes:read")
        http.resource = site.client("resource-server")
        yield http
    site.database.dispose()


@pytest.fixture(autouse=True)
def plain_http(monkeypatch):
    """Both libraries want https; this server is on this machine."""
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")


def expired(token):
    """A token that its holder takes for expired."""
    return {**token, "expires_at": int(time()) - 10, "expires_in": -10}


def oauthlib_session(server, keys, client, saved):
    credentials = {"client_id": keys.client_id, "client_secret": keys.client_secret}
    session = OAuth2Session(
        client=client(client_id=keys.client_id),
        auto_refresh_url=server.token_url,
        auto_refresh_kwargs=credentials,
        token_updater=saved.append,
    )
    return session, credentials


@pytest.mark.parametrize("in_body", [None, True])
def test_requests_oauthlib_logs_a_user_in_and_refreshes_by_itself(server, in_body):
    saved = []
    session, credentials = oauthlib_session(server, server.web, LegacyApplicationClient, saved)
    first = session.fetch_token(server.token_url, **ANN, **credentials, include_client_id=in_body)
    assert first["token_type"] == "Bearer"
    assert session.get(f"{server.url}/v1/user").json()["email"] == "ann@example.com"
    for _ in range(3):
        session.token = expired(session.token)
        assert session.get(f"{server.url}/v1/user").status_code == 200
        assert session.token["access_token"] == saved[-1]["access_token"]
    assert len({token["refresh_token"] for token in [first, *saved]}) == 4
    assert session.delete(f"{server.url}/v1/logout/").status_code == 200
    assert session.get(f"{server.url}/v1/user").status_code == 401


def test_requests_oauthlib_takes_client_credentials_and_refreshes_by_itself(server):
    saved = []
    session, credentials = oauthlib_session(server, server.machine, BackendApplicationClient, saved)
    first = session.fetch_token(server.token_url, **credentials)
    assert first["scope"] == ["notes:read"]
    assert session.get(f"{server.url}/v1/user").status_code == 403  # it acts for no user
    session.token = expired(session.token)
    assert session.get(f"{server.url}/v1/user").status_code == 403
    assert saved[0]["access_token"] != first["access_token"]


def test_requests_oauthlib_reads_our_scopes_and_errors(server):
    session, credentials = oauthlib_session(server, server.web, LegacyApplicationClient, [])
    session.scope = ["notes:read"]
    token = session.fetch_token(server.token_url, **ANN, **credentials)
    assert token.scope_changed is False
    wrong = {**ANN, "password": "not this one"}
    with pytest.raises(InvalidGrantError):
        session.fetch_token(server.token_url, **wrong, **credentials)
    credentials["client_secret"] = "wrong"
    with pytest.raises(InvalidClientError, match="Client authentication failed"):
        session.fetch_token(server.token_url, **ANN, **credentials)


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
@pytest.mark.parametrize("library", [AuthlibSession, OAuth2Client])
def test_authlib_logs_a_user_in_and_refreshes_by_itself(server, library, method):
    saved = []
    session = authlib(library, server, server.web, method, saved)
    first = session.fetch_token(server.token_url, **ANN)
    assert session.get(f"{server.url}/v1/user").json()["email"] == "ann@example.com"
    for _ in range(3):
        session.token = expired(session.token)
        assert session.get(f"{server.url}/v1/user").status_code == 200
    assert len({token["refresh_token"] for token in [first, *saved]}) == 4
    assert session.delete(f"{server.url}/v1/logout/").status_code == 200
    assert session.get(f"{server.url}/v1/user").status_code == 401


@pytest.mark.parametrize("library", [AuthlibSession, OAuth2Client])
def test_authlib_takes_client_credentials_and_refreshes_by_itself(server, library):
    saved = []
    session = authlib(library, server, server.machine, "client_secret_basic", saved)
    first = session.fetch_token(server.token_url, grant_type="client_credentials")
    assert session.get(f"{server.url}/v1/user").status_code == 403
    session.token = expired(session.token)
    assert session.get(f"{server.url}/v1/user").status_code == 403
    assert saved[0]["access_token"] != first["access_token"]


@pytest.mark.parametrize("library", [AuthlibSession, OAuth2Client])
def test_authlib_reads_our_errors(server, library):
    session = authlib(library, server, server.web, "client_secret_basic", [])
    with pytest.raises(OAuthError) as refusal:
        session.fetch_token(server.token_url, username="ann@example.com", password="wrong")
    assert refusal.value.error == "invalid_grant"
    with pytest.raises(OAuthError) as refusal:
        session.fetch_token(server.token_url, grant_type="client_credentials")
    assert refusal.value.error == "unauthorized_client"


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
@pytest.mark.parametrize("library", [AuthlibSession, OAuth2Client])
def test_authlib_introspects_and_revokes(server, library, method):
    metadata = server.get("/.well-known/oauth-authorization-server").json()
    session = authlib(library, server, server.web, method, [])
    token = session.fetch_token(metadata["token_endpoint"], scope="notes:read", **ANN)
    resource = authlib(library, server, server.resource, method, [])

    def introspected():
        answer = resource.introspect_token(
            metadata["introspection_endpoint"], token["access_token"], "access_token"
        )
        assert answer.status_code == 200
        return answer.json()

    before = introspected()
    assert (before["active"], before["scope"]) == (True, "notes:read")
    assert before["username"] == "ann@example.com"
    answer = session.revoke_token(
        metadata["revocation_endpoint"], token["refresh_token"], "refresh_token"
    )
    assert answer.status_code == 200
    assert introspected() == {"active": False}
    assert session.get(f"{server.url}/v1/user").status_code == 401


def test_authlib_accepts_our_metadata(server):
    url = get_well_known_url(server.url, external=True)
    metadata = server.get(url).json()
    assert metadata["issuer"] == server.url
    AuthorizationServerMetadata(metadata).validate()


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_oauthlib_revokes(server, kind):
    metadata = server.get("/.well-known/oauth-authorization-server").json()
    session, credentials = oauthlib_session(server, server.web, LegacyApplicationClient, [])
    token = session.fetch_token(metadata["token_endpoint"], **ANN, **credentials)
    url, headers, body = session._client.prepare_token_revocation_request(
        metadata["revocation_endpoint"], token[kind], kind
    )
    answer = requests.post(
        url,
        data=body,
        headers=headers,
        auth=(server.web.client_id, server.web.client_secret),
        timeout=30,
    )
    assert answer.status_code == 200
    assert session.get(f"{server.url}/v1/user").status_code == 401


def authlib(library, server, keys, method, saved):
    return library(
        keys.client_id,
        keys.client_secret,
        token_endpoint=server.token_url,
        token_endpoint_auth_method=method,
        update_token=lambda token, refresh_token=None, access_token=None: saved.append(token),
    )
