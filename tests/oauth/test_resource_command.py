"""``authsite resource …``."""

import pytest

from tests.support.applications import default_resource
from tests.support.in_process import Commands

MCP = "https://mcp.example.com/"


@pytest.fixture
def commands(site, tmp_path):
    return Commands(site, tmp_path)


def test_a_resource_is_added_listed_changed_and_removed(site, commands):
    server = site.client("resource-server")
    added = commands.json("resource", "add", MCP, "--scope", "a b", "--client", server.client_id)
    assert (added["uri"], added["scopes"], added["client_id"]) == (MCP, "a b", server.client_id)
    assert commands.json("resource", "list") == {"resources": [added], "total": 1}
    changed = commands.json("resource", "update", "https://MCP.example.com", "--scope", "a")
    assert (changed["scopes"], changed["client_id"]) == ("a", server.client_id)
    assert commands.json("resource", "update", MCP, "--client", "")["client_id"] is None
    assert MCP in commands.run("resource", "list").output
    commands.run("resource", "remove", MCP)
    assert commands.json("resource", "list")["total"] == 0


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "mcp.example.com",
        "/mcp",
        "https:",
        "https:///x",
        "https://mcp.example.com/#x",
        "https://ann@mcp.example.com/",
        "https://mcp.example.com/a b",
        "https://mcp.example.com/é",
        "https://mcp.example.com\\x",
        f"https://mcp.example.com/{'x' * 2048}",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "mcp://x",
        "http://mcp.example.com/",
        "http://999.1.1.1/",
    ],
)
def test_what_is_no_uri_of_a_resource(commands, uri):
    assert "URI" in commands.run("resource", "add", uri, "--scope", "a", status=1).stderr


@pytest.mark.parametrize(
    "uri",
    [
        MCP,
        "urn:example:mcp",
        "https://a.example.com/v1?x=y",
        "api://x",
        "http://localhost:8010/mcp",
        "http://127.0.0.1/",
        "com.example.notes:/api",
    ],
)
def test_what_is_one(commands, uri):
    assert commands.json("resource", "add", uri, "--scope", "")["uri"] == uri


@pytest.mark.parametrize("again", ["https://MCP.example.com", "HTTPS://mcp.example.com/"])
def test_one_resource_has_one_row(commands, again):
    commands.run("resource", "add", MCP, "--scope", "a")
    assert MCP in commands.run("resource", "add", again, "--scope", "b", status=1).stderr
    assert commands.json("resource", "list")["total"] == 1


@pytest.mark.parametrize("scope", ["account", "admin:users:read", 'a"b'])
def test_scopes_that_its_tokens_cannot_have(commands, scope):
    commands.run("resource", "add", MCP, "--scope", scope, status=1)
    commands.run("resource", "add", MCP, "--scope", "a")
    commands.run("resource", "update", MCP, "--scope", scope, status=1)
    assert commands.json("resource", "list")["resources"][0]["scopes"] == "a"


@pytest.mark.parametrize("client", ["x", "5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])
def test_its_server_is_a_resource_server(site, commands, client):
    for given in (client, site.client().client_id):
        done = commands.run("resource", "add", MCP, "--scope", "a", "--client", given, status=1)
        assert "resource-server" in done.stderr
    assert commands.json("resource", "list")["total"] == 0


def test_the_default_of_a_client_is_not_removed(site, commands):
    keys = site.client()
    commands.run("resource", "add", MCP, "--scope", "a")
    default_resource(site, keys, "https://mcp.example.com")
    assert keys.client_id in commands.run("resource", "remove", MCP, status=1).stderr
    default_resource(site, keys, None)
    commands.run("resource", "remove", MCP)


def test_one_that_is_not_there_and_nothing_to_change(commands):
    for command in (("update", MCP, "--scope", "a"), ("remove", MCP)):
        assert "resource list" in commands.run("resource", *command, status=1).stderr
    commands.run("resource", "update", MCP, status=2)
