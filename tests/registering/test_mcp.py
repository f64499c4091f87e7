"""The way of a client of MCP to a tool, by plain HTTP (docs/mcp-server.md).

The client knows nothing but the URL of the server: the application in Pyramid of the guide. The
steps are those of the specification of 2026-07-28. tests/clients/test_mcp.py has the SDKs.
"""

import configparser
import re

import pytest

from tests.support import guides
from tests.support.applications import resource
from tests.support.authorizing import (
    BASE,
    VERIFIER,
    Application,
    answer_of,
    authorize,
    log_in,
    press,
)
from tests.support.site import bearer

MCP = f"{BASE}/mcp"
OTHER = "https://other.example.org/mcp"
CALLBACK = "http://127.0.0.1:49152/callback"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "whoami"}}


def of_guide(title):
    [block] = [each for each in guides.blocks("mcp-server") if each.title == title]
    return block.text


@pytest.fixture
def site(host_with):
    """The application of the guide, with the settings of the guide."""
    names, ini = {}, configparser.ConfigParser(interpolation=None, delimiters="=")
    exec(of_guide("pyramid_notes.py"), names)  # noqa: S102  what the page shows
    ini.read_string(f"[app]\n{of_guide('authsite.ini')}")
    settings = dict(ini["app"])
    own = {"openid": "on", "base_url": BASE}
    made = host_with(names["add_mcp"], own=settings, **own)
    resource(made, MCP, "notes:read notes:write")
    resource(made, OTHER, "notes:read notes:write")
    made.user(confirmed=True)
    return made


def ask(site, token=None, status=200):
    return site.http.post_json(MCP, CALL, headers=bearer(token) if token else {}, status=status)


def found_out(site):
    """What the client learns from the URL: the metadata of the server that gives tokens."""
    challenge = ask(site, status=401).headers["WWW-Authenticate"]
    told = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
    about = site.http.get(told["resource_metadata"]).json
    assert about["resource"] == MCP
    [issuer] = about["authorization_servers"]
    metadata = site.http.get(f"{issuer}/.well-known/oauth-authorization-server").json
    assert metadata["issuer"] == issuer
    assert metadata["code_challenge_methods_supported"] == ["S256"]
    assert "none" in metadata["token_endpoint_auth_methods_supported"]
    assert metadata["authorization_response_iss_parameter_supported"] is True
    assert metadata["client_id_metadata_document_supported"] is True
    return told["scope"], metadata


def registered(site, metadata, scope):
    """The client registers itself, as the specification says: with ``application_type``."""
    sent = {
        "redirect_uris": [CALLBACK],
        "application_type": "native",
        "client_name": "Agent",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "scope": scope,
    }
    made = site.http.post_json(metadata["registration_endpoint"], sent, status=201).json
    assert "client_secret" not in made
    return Application(made["client_id"], None, CALLBACK, "Agent")


def tokens_for(site, app, metadata, uri, **asked):
    """The tokens for a resource, after the person has allowed it."""
    page = authorize(site, app, resource=uri, nonce=None, **asked)
    if page.status_int == 302:  # to the login page
        page = log_in(site, page)
    page.mustcontain("Agent", "not verified by")
    back = answer_of(press(site, page))
    assert (back["state"], back["iss"]) == ("st-1", metadata["issuer"])
    form = {
        "grant_type": "authorization_code",
        "code": back["code"],
        "redirect_uri": CALLBACK,
        "code_verifier": VERIFIER,
        "client_id": app.client_id,
        "resource": uri,
    }
    return site.http.post(metadata["token_endpoint"], form, status=200).json


def user_of(answer):
    return answer.json["result"]["content"][0]["text"]


def test_a_client_comes_from_the_url_to_a_tool(site):
    scope, metadata = found_out(site)
    assert scope == "notes:read"
    app = registered(site, metadata, scope)
    first = tokens_for(site, app, metadata, MCP, scope=scope)
    assert first["scope"] == "notes:read"
    user = user_of(ask(site, first["access_token"]))

    form = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    form |= {"client_id": app.client_id, "resource": MCP}
    second = site.http.post(metadata["token_endpoint"], form, status=200).json
    assert user_of(ask(site, second["access_token"])) == user

    site.http.get("/v1/user", headers=bearer(second["access_token"]), status=401)
    other = tokens_for(site, app, metadata, OTHER, scope=f"{scope} notes:write")
    assert "resource_metadata" in ask(site, other["access_token"], 401).headers["WWW-Authenticate"]


def test_a_token_with_too_little_is_told_what_it_lacks(site):
    _, metadata = found_out(site)
    app = registered(site, metadata, "notes:write")
    token = tokens_for(site, app, metadata, MCP, scope="notes:write")["access_token"]
    challenge = ask(site, token, 403).headers["WWW-Authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="notes:read"' in challenge
    more = tokens_for(site, app, metadata, MCP, scope="notes:read notes:write")["access_token"]
    ask(site, more)
