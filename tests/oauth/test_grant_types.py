"""The grant types of a client (RFC 7591, section 2), and what the grants state about themselves."""

import json
from typing import get_args
from uuid import UUID

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from sqlalchemy import update

from authsite.cli import authsite
from authsite.oauth.grants.table import GRANTS
from authsite.oauth.models import CLIENT_TYPES, Client
from tests.support.authorizing import OPENID
from tests.support.in_process import Commands, write_ini
from tests.support.site import PASSWORD, WEB

LOGIN = {"grant_type": "password", "username": "ann@example.com", "password": PASSWORD}
MACHINE = {"grant_type": "client_credentials"}


def give(site, keys, grant_types):
    """Store these grant types with the client."""
    with site.db() as db:
        chosen = update(Client).where(Client.id == UUID(keys.client_id))
        db.execute(chosen.values(grant_types=grant_types))


@pytest.mark.control("T06")
@pytest.mark.parametrize(
    ("type_", "grant_types", "allowed"),
    [
        ("password", "client_credentials", {"client_credentials"}),
        ("personal", "password client_credentials", {"password", "client_credentials"}),
        ("resource-server", "password", {"password"}),
        ("password", "", set()),
        ("password", "password_", set()),
    ],
)
def test_grant_types_of_a_client_replace_those_of_its_type(site, type_, grant_types, allowed):
    site.user()
    keys = site.client(type_)
    give(site, keys, grant_types)
    for form in (LOGIN, MACHINE):
        name = form["grant_type"]
        answer = site.token(keys, 200 if name in allowed else 400, **form).json
        if name not in allowed:
            assert answer["error"] == "unauthorized_client"
        else:
            refused = site.refresh(keys, answer["refresh_token"], status=400)
            assert refused["error"] == "unauthorized_client"


def test_the_refresh_token_of_a_client_that_may_not_refresh_is_inactive(site, tmp_path):
    site.user()
    keys = site.client()
    pair = site.login(keys)
    commands = Commands(site, tmp_path)
    for given, active in (("password", False), ("password refresh_token", True), (None, True)):
        give(site, keys, given)
        assert site.introspect(keys, pair["refresh_token"])["active"] is active
        assert site.introspect(keys, pair["access_token"])["active"]
        shown = commands.json("token", "show", "-", stdin=f"{pair['refresh_token']}\n")
        assert shown["active"] is active
        assert ("refresh_token" in (shown["reason"] or "")) is not active


@pytest.mark.control("T06")
def test_a_first_party_client_without_the_grant_is_rejected_at_its_proxy_too(site_with):
    site = site_with(**WEB)
    site.user()
    keys = site.first_party("web")
    login = {"username": "ann@example.com", "password": PASSWORD}
    pair = site.http.post("/v1/clients/web/login", login, status=200).json
    site.http.reset()
    give(site, keys, "client_credentials")
    renewal = {"refresh_token": pair["refresh_token"]}
    for path, form in (("login", login), ("refresh", renewal)):
        answer = site.http.post(f"/v1/clients/web/{path}", form, status=400)
        assert answer.json["error"] == "unauthorized_client"
        assert "Set-Cookie" not in answer.headers
    give(site, keys, None)
    site.http.post("/v1/clients/web/refresh", renewal, status=200)


def test_the_commands_show_the_grant_types_of_the_type_and_of_the_client(site, tmp_path):
    own, preset = site.client(name="own"), site.client("personal", name="preset")
    give(site, own, "password urn:example:other")
    ini = write_ini(tmp_path / "authsite.ini", site.url)

    def run(*arguments):
        done = CliRunner().invoke(authsite, ["client", *arguments, "--config", ini])
        assert done.exit_code == 0, done.output
        return done.stdout

    listed = json.loads(run("list", "--json"))["clients"]
    shown = json.loads(run("show", own.client_id, "--json"))
    assert {each["name"]: each["grant_types"] for each in listed} == {
        "own": ["password", "urn:example:other"],
        "preset": list(CLIENT_TYPES["personal"]),
    }
    assert shown["grant_types"] == ["password", "urn:example:other"]
    assert " ".join(CLIENT_TYPES["personal"]) in run("show", preset.client_id)


def test_every_grant_states_its_name_and_a_type_of_client_has_only_known_grants():
    for name, grant in GRANTS.items():
        [stated] = get_args(grant.body.model_fields["grant_type"].annotation)
        assert stated == name
        assert set(grant.body.needs) <= set(grant.body.model_fields)
        assert grant.body.description
        assert grant.body.examples
    assert {name for preset in CLIENT_TYPES.values() for name in preset} <= set(GRANTS)


def test_the_metadata_and_the_api_document_have_the_same_grants(site_with):
    site = site_with(**OPENID)
    metadata = site.http.get("/.well-known/oauth-authorization-server").json
    document = site.http.get("/v1/openapi.json").json
    operation = document["paths"]["/v1/oauth/token"]["post"]
    [media] = operation["requestBody"]["content"].values()
    rooted = {**media["schema"], "components": document["components"]}
    name = media["schema"]["$ref"].rpartition("/")[2]
    mapping = document["components"]["schemas"][name]["discriminator"]["mapping"]
    assert metadata["grant_types_supported"] == list(mapping) == list(GRANTS)
    validator = Draft202012Validator(rooted)
    for good in (LOGIN, MACHINE, {"grant_type": "refresh_token", "refresh_token": "rt_x"}):
        assert validator.is_valid(good)
    for bad in (
        {**LOGIN, "grant_type": "refresh_token"}, {**LOGIN, "password": ""},
        {"grant_type": "password", "username": "ann"}, {"grant_type": "implicit"}, {},
    ):  # fmt: skip
        assert not validator.is_valid(bad)


@pytest.mark.parametrize(
    ("form", "right_secret", "error"),
    [
        ({**LOGIN, "username": "x" * 321}, False, "invalid_request"),
        ({**MACHINE, "refresh_token": "x" * 4097}, False, "invalid_request"),
        ({"grant_type": "implicit", "password": "\0"}, False, "invalid_request"),
        ({"grant_type": "implicit"}, False, "unsupported_grant_type"),
        ({"grant_type": "password"}, False, "invalid_client"),
        ({"grant_type": "refresh_token"}, False, "invalid_client"),
        ({"grant_type": "password"}, True, "unauthorized_client"),
        ({"grant_type": "refresh_token"}, True, "invalid_request"),
    ],
)
def test_the_order_of_the_checks(site, form, right_secret, error):
    keys = site.client("personal")
    sent = keys.form(**form) if right_secret else {**keys.form(**form), "client_secret": "wrong"}
    answer = site.http.post("/v1/oauth/token", sent, status="*")
    assert answer.json["error"] == error
