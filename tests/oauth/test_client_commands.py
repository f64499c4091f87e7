"""``authsite client``: the types that sign people in with a code, and their fields."""

import json

import pytest
from click.testing import CliRunner
from sqlalchemy import select

from authsite.cli import authsite
from authsite.oauth.clients import registered
from authsite.oauth.models import DEVICE_GRANT, Client, ClientUri
from authsite.oauth.resources import add
from tests.support.acting import acting
from tests.support.in_process import write_ini

CALLBACK = "https://app.example.org/callback"


@pytest.fixture
def run(site, tmp_path):
    """Run ``authsite client``; the JSON, or the message of an error."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "wiki.svg").write_text("<svg/>")
    ini = write_ini(
        tmp_path / "authsite.ini", site.url,
        static_folder=tmp_path / "files", scopes="notes:read: Read", private_schemes="wikiapp",
    )  # fmt: skip

    def execute(*arguments, fails=False):
        done = CliRunner().invoke(authsite, ["client", *arguments, "--json", "--config", ini])
        assert (done.exit_code != 0) is fails, done.output
        return done.stderr if fails else json.loads(done.stdout)

    return execute


def created(run, client_type="server", *more, uri=CALLBACK):
    return run("create", "--name", "Wiki", "--type", client_type, "--redirect-uri", uri, *more)


DEFAULTS = {
    "redirect_uris": [CALLBACK], "post_logout_redirect_uris": [], "origins": [],
    "first_party": False, "consent": "ask", "pkce": "required",
    "id_token_signed_response_alg": "RS256", "id_token_lifetime": None, "require_confirmed": True,
    "require_group": None, "default_resource": None, "logo": None, "policy_uri": None,
    "tos_uri": None,
}  # fmt: skip


@pytest.mark.both_databases
@pytest.mark.parametrize("client_type", ["server", "browser", "native"])
def test_a_client_is_created_with_the_defaults(site, run, client_type):
    made = created(run, client_type)
    assert ("client_secret" in made) is (client_type == "server")
    shown = run("show", made["client_id"])
    assert shown.items() >= DEFAULTS.items()
    claims = "userinfo" if client_type == "native" else "both"
    assert shown["id_token_claims"] == claims
    assert shown["secrets"] == (1 if client_type == "server" else 0)
    device = [DEVICE_GRANT] if client_type == "native" else []
    assert shown["grant_types"] == ["authorization_code", "refresh_token", *device]
    assert run("list")["clients"] == [shown]
    found = registered.find(acting(None, site.app.registry["authsite"]), made["client_id"])
    assert found.type == client_type


def test_every_field_is_given_shown_replaced_and_removed(site, run):
    with site.db() as db:
        add(acting(db, site.app.registry["authsite"]), "https://api.example.org", "notes:read")
    given = {
        "--post-logout-redirect-uri": "https://app.example.org/bye",
        "--origin": "https://app.example.org",
        "--first-party": "on",
        "--pkce": "required",
        "--id-token-signed-response-alg": "ES256",
        "--id-token-lifetime": "10m",
        "--id-token-claims": "userinfo",
        "--consent": "none",
        "--require-confirmed": "off",
        "--require-group": "authsite:owner",
        "--default-resource": "https://api.example.org/",
        "--logo": "wiki.svg",
        "--policy-uri": "https://example.org/privacy",
        "--tos-uri": "https://example.org/terms",
    }
    words = [word for pair in given.items() for word in pair]
    made = created(run, "browser", *words, "--redirect-uri", f"{CALLBACK}2")
    expected = {
        "redirect_uris": [CALLBACK, f"{CALLBACK}2"],
        "post_logout_redirect_uris": ["https://app.example.org/bye"],
        "origins": ["https://app.example.org"],
        "first_party": True,
        "pkce": "required",
        "id_token_signed_response_alg": "ES256",
        "id_token_lifetime": 600,
        "id_token_claims": "userinfo",
        "consent": "none",
        "require_confirmed": False,
        "require_group": "authsite:owner",
        "default_resource": "https://api.example.org",
        "logo": "wiki.svg",
        "policy_uri": "https://example.org/privacy",
        "tos_uri": "https://example.org/terms",
    }
    assert run("show", made["client_id"]).items() >= expected.items()
    changed = run("update", made["client_id"], "--redirect-uri", f"{CALLBACK}3", "--name", "W")
    assert changed.items() >= (expected | {"redirect_uris": [f"{CALLBACK}3"], "name": "W"}).items()
    emptied = run(
        "update", made["client_id"], "--post-logout-redirect-uri", "", "--origin", "",
        "--require-group", "", "--default-resource", "", "--logo", "", "--policy-uri", "",
        "--tos-uri", "", "--id-token-lifetime", "", "--first-party", "off",
        "--require-confirmed", "on", "--consent", "ask",
        "--id-token-signed-response-alg", "RS256", "--redirect-uri", CALLBACK,
    )  # fmt: skip
    assert emptied.items() >= DEFAULTS.items()
    with site.db() as db:
        assert [row.uri for row in db.scalars(select(ClientUri))] == [CALLBACK]
    assert site.events().count("client.changed") == 2


def test_pkce_is_optional_for_a_server_alone(run):
    """An application that cannot have it must have a secret."""
    made = created(run, "server", "--pkce", "optional")
    assert run("show", made["client_id"])["pkce"] == "optional"
    for client_type in ("browser", "native"):
        words = ("--type", client_type, "--redirect-uri", CALLBACK, "--pkce", "optional")
        assert "pkce is required" in run("create", "--name", "x", *words, fails=True)


@pytest.mark.parametrize(
    ("client_type", "words", "message"),
    [
        ("server", (), "needs a redirect URI"),
        ("server", ("--redirect-uri", ""), "needs a redirect URI"),
        ("server", ("--redirect-uri", "http://app.example.org/cb"), "use https"),
        ("server", ("--redirect-uri", "wikiapp://cb"), "for a program"),
        ("native", ("--redirect-uri", "otherapp://cb"), "private-schemes"),
        ("native", ("--redirect-uri", CALLBACK, "--post-logout-redirect-uri", "x"), "whole URI"),
        ("server", ("--redirect-uri", CALLBACK, "--origin", "https://a.example"), "browser"),
        ("browser", ("--redirect-uri", CALLBACK, "--origin", "https://a.example/"), "browsers"),
        ("server", ("--redirect-uri", CALLBACK, "--logo", "../wiki.svg"), "static-folder"),
        ("server", ("--redirect-uri", CALLBACK, "--logo", "https://x.example/y"), "static-folder"),
        ("server", ("--redirect-uri", CALLBACK, "--logo", "none.svg"), "static-folder"),
        ("server", ("--redirect-uri", CALLBACK, "--tos-uri", "http://x.example"), "use https"),
        ("server", ("--redirect-uri", CALLBACK, "--policy-uri", "javascript:x"), "https"),
        ("server", ("--redirect-uri", CALLBACK, "--require-group", "ops"), "group create"),
        ("server", ("--redirect-uri", CALLBACK, "--default-resource", "https://x"), "resource add"),
        ("server", ("--redirect-uri", CALLBACK, "--id-token-lifetime", "2d"), "at most 1d"),
        ("server", ("--redirect-uri", CALLBACK, "--id-token-lifetime", "soon"), "duration"),
        ("server", ("--redirect-uri", CALLBACK, "--id-token-signed-response-alg", "none"), "RS256"),
        ("server", ("--redirect-uri", CALLBACK, "--first-party", "yes"), "on"),
        ("server", ("--redirect-uri", CALLBACK, "--scope", "notes:write"), "unknown scope"),
        ("password", ("--redirect-uri", CALLBACK), "has no redirect_uris"),
        ("personal", ("--first-party", "on"), "has no first_party"),
        ("resource-server", ("--default-resource", "https://x"), "has no default_resource"),
        ("password", ("--scope", "openid"), "cannot have the scope openid"),
        ("personal", ("--scope", "email"), "cannot have the scope email"),
    ],
)
def test_what_a_client_cannot_have(site, run, client_type, words, message):
    stderr = run("create", "--name", "x", "--type", client_type, *words, fails=True)
    assert message in stderr
    with site.db() as db:
        assert db.scalars(select(Client)).all() == []


def test_the_scopes_that_need_no_setting(run):
    scope = "account openid profile email phone groups offline_access notes:read"
    made = created(run, "server", "--scope", scope)
    assert run("show", made["client_id"])["scope"] == scope


def test_a_program_has_its_schemes_and_loopback(run):
    made = created(run, "native", "--redirect-uri", "http://localhost/cb", uri="wikiapp://cb")
    shown = run("show", made["client_id"])
    assert shown["redirect_uris"] == ["wikiapp://cb", "http://localhost/cb"]


def test_the_last_redirect_uri_stays(run):
    made = created(run)
    assert "keeps at least one" in run(
        "update", made["client_id"], "--redirect-uri", "", fails=True
    )


def test_a_public_client_has_no_secret_to_rotate(run):
    made = created(run, "native")
    assert "has no secret" in run("rotate-secret", made["client_id"], fails=True)
    assert run("retire-secret", made["client_id"])["secrets"] == 0


def test_another_first_party_ends_the_tokens(site, run):
    made = created(run)

    def epoch():
        with site.db() as db:
            return db.scalars(select(Client)).one().epoch

    before = epoch()
    run("update", made["client_id"], "--first-party", "off", "--name", "same")
    assert epoch() == before
    run("update", made["client_id"], "--first-party", "on")
    assert epoch() == before + 1
    run("update", made["client_id"], "--first-party", "off")
    assert epoch() == before + 2


def test_fields_of_logins_and_tokens_are_for_the_other_types_too(site, run):
    with site.db() as db:
        add(acting(db, site.app.registry["authsite"]), "https://api.example.org/", "")
    made = run(
        "create", "--name", "x", "--type", "password", "--require-group", "authsite:owner",
        "--default-resource", "https://api.example.org",
    )  # fmt: skip
    shown = run("show", made["client_id"])
    assert (shown["require_group"], shown["default_resource"]) == (
        "authsite:owner", "https://api.example.org/"
    )  # fmt: skip
    assert "redirect_uris" not in shown
