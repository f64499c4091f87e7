"""Clients that use codes, their URIs and the resources of one authsite come along to another."""

import json
from uuid import UUID

import pytest
from click.testing import CliRunner
from sqlalchemy import select
from sqlalchemy.orm import Session

from authsite.cli import authsite
from authsite.oauth import resources
from authsite.oauth.clients import registration
from authsite.oauth.clients.fields import ClientFields
from authsite.oauth.models import Client, ClientUri, Resource
from authsite.platform.db import open_database
from tests.support import databases
from tests.support.acting import acting
from tests.support.in_process import write_ini

CALLBACK = "https://app.example.org/callback"
BROWSER = ClientFields(
    redirect_uris=(f"{CALLBACK}2", CALLBACK),
    origins=("https://app.example.org",),
    post_logout_redirect_uris=("https://app.example.org/bye",),
    first_party=True,
    consent="none",
    id_token_signed_response_alg="ES256",
    id_token_lifetime=600,
    id_token_claims="both",
    require_confirmed=False,
    default_resource="https://api.example.org",
    policy_uri="https://example.org/privacy",
)


def run(*arguments, status=0):
    done = CliRunner().invoke(authsite, arguments)
    assert done.exit_code == status, done.output
    return done.stdout


@pytest.fixture
def export(site, tmp_path):
    """The lines of an export."""
    with site.db() as db:
        ctx = acting(db, site.app.registry["authsite"])
        server, _ = registration.register(ctx, "API", "resource-server")
        db.flush()
        resources.add(ctx, "https://api.example.org", "notes:read", server.id)
        db.flush()
        registration.register(ctx, "Notes", "browser", fields=BROWSER)
        optional = ClientFields(redirect_uris=(CALLBACK,), pkce="optional")
        registration.register(ctx, "Wiki", "server", fields=optional)
    ini = write_ini(tmp_path / "from.ini", site.url)
    run("export", "--output", str(tmp_path / "all.jsonl"), "--config", ini)
    return [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]


@pytest.fixture
def other(fresh_url):
    """Another authsite, without any rows."""
    return databases.migrated(fresh_url)


def imported(url, tmp_path, lines, *more):
    path = tmp_path / "given.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    ini = write_ini(tmp_path / "to.ini", url)
    report = str(tmp_path / "report.jsonl")
    given = ["--json", "--report", report, "--config", ini, *more]
    (tmp_path / "report.jsonl").unlink(missing_ok=True)
    counts = json.loads(run("import", "authsite", str(path), *given).splitlines()[-1])
    refused = (tmp_path / "report.jsonl").read_text().splitlines()
    return counts, [json.loads(line) for line in refused]


def rows(url, *models):
    database = open_database(url)
    try:
        with Session(database.transactional) as db:
            return [
                [
                    {c.name: getattr(row, c.name) for c in model.__table__.columns}
                    for row in db.scalars(select(model).order_by(*order))
                ]
                for model, order in models
            ]
    finally:
        database.dispose()


CONTENT = (
    (Client, (Client.id,)),
    (ClientUri, (ClientUri.client_id, ClientUri.kind, ClientUri.position)),
    (Resource, (Resource.uri,)),
)


def comparable(found):
    return [[row | {"id": None, "epoch": None} for row in each] for each in found]


@pytest.mark.both_databases
def test_all_of_a_client_comes_along(site, export, other, tmp_path):
    dry, _ = imported(other, tmp_path, export, "--dry-run")
    assert rows(other, *CONTENT) == [[], [], []]
    done, refused = imported(other, tmp_path, export)
    assert refused == []
    for counts in (dry, done):
        numbers = {name: counts[name]["imported"] for name in ("clients", "client_uris")}
        assert numbers == {"clients": 3, "client_uris": 5}
        assert counts["resources"]["imported"] == 1
    before, after = rows(site.url, *CONTENT), rows(other, *CONTENT)
    assert comparable(after) == comparable(before)
    assert [row["id"] for row in after[0]] == [row["id"] for row in before[0]]
    again, _ = imported(other, tmp_path, export)
    assert again["client_uris"]["present"] == 5
    assert again["resources"]["present"] == 1


@pytest.mark.parametrize(
    ("kind", "change", "field"),
    [
        ("client_uri", {"uri": "http://evil.example/cb"}, "uri"),
        ("client_uri", {"uri": "javascript:alert(1)"}, "uri"),
        ("client_uri", {"kind": "other"}, "kind"),
        ("client_uri", {"client_id": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"}, "client_id"),
        ("client", {"policy_uri": "javascript:alert(1)"}, "policy_uri"),
        ("client", {"logo": "https://evil.example/x"}, "logo"),
        ("client", {"id_token_lifetime": 86401}, "id_token_lifetime"),
        ("client", {"id_token_signed_response_alg": "none"}, "id_token_signed_response_alg"),
        ("client", {"client_type": "password", "scope": "openid"}, "scope"),
        ("client", {"client_type": "browser", "pkce": "optional"}, "pkce"),
        # 9.3: tokens of these grants count as those of a first party, and open our own API.
        ("client", {"client_type": "server", "grant_types": "password"}, "grant_types"),
        ("client", {"client_type": "native", "grant_types": "client_credentials"}, "grant_types"),
        ("resource", {"client_id": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"}, "client_id"),
        ("resource", {"uri": "not a uri"}, None),
    ],
)
def test_what_no_command_would_write_is_left_out(export, other, tmp_path, kind, change, field):
    changed = next(line for line in export if line["type"] == kind)
    changed |= change
    _, refused = imported(other, tmp_path, export)
    assert (f"{kind}s", field) in {(line["table"], line["field"]) for line in refused}


def test_a_public_client_comes_without_a_secret_whatever_the_file_has(export, other, tmp_path):
    line = next(line for line in export if line.get("client_type") == "browser")
    assert line["secrets"] == []
    line["secrets"] = [{"scheme": "sha256", "hash": "0" * 64}] * 2
    imported(other, tmp_path, export)
    [found] = rows(other, (Client, (Client.id,)))
    stored = {row["id"]: (row["secret_hash"], row["previous_secret_hash"]) for row in found}
    assert stored[UUID(line["id"])] == ("", None)
