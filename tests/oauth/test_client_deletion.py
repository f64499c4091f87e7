"""``authsite client delete``: a client goes for good, and everything of it."""

import threading
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, select

from authsite.oauth.clients import deletion as client_deletion
from authsite.oauth.clients.service import hash_secret, new_secret
from authsite.oauth.codes.models import AuthorizationCode
from authsite.oauth.consents.service import Consent
from authsite.oauth.models import Client, ClientUri, Family
from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from tests.support.acting import acting
from tests.support.applications import resource
from tests.support.authorizing import OPENID, application, authorize, code_for, redeemed
from tests.support.in_process import Commands
from tests.support.locks import until_blocked


@pytest.fixture
def site(site_with):
    made = site_with(**OPENID)
    made.user(confirmed=True)
    return made


@pytest.fixture
def commands(site, tmp_path):
    return Commands(site, tmp_path)


def rows(site, model):
    with site.db() as db:
        return db.scalar(select(func.count()).select_from(model))


def test_it_goes_with_its_tokens_codes_and_consents(site, commands):
    app, other = application(site), application(site, name="Other")
    tokens = redeemed(site, app, code_for(site, app))
    code_for(site, app)
    kept = redeemed(site, other, code_for(site, other))
    done = commands.json("client", "delete", app.client_id, "--yes", "--reason", "a trial")
    assert done["name"] == "Wiki"
    assert (done["sign_ins"], done["consents"], done["personal_tokens"]) == (1, 1, 0)
    assert [rows(site, each) for each in (Client, ClientUri, Family, Consent)] == [1, 1, 1, 1]
    assert rows(site, AuthorizationCode) == 1
    keys = {"client_id": app.client_id, "client_secret": app.client_secret}
    sent = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    assert site.http.post("/v1/oauth/token", sent | keys, status=401).json["error"]
    for pair, status in ((tokens, 401), (kept, 200)):
        headers = {"Authorization": f"Bearer {pair['access_token']}"}
        site.http.get("/v1/oauth/userinfo", headers=headers, status=status)
    assert authorize(site, app).status_int == 400
    with site.db() as db:
        [event] = db.scalars(select(AuditEvent).where(AuditEvent.event == "client.deleted"))
        assert event.client_id == app.id
        assert event.details == {
            "name": "Wiki", "type": "server", "sign_ins": "1", "consents": "1",
            "personal_tokens": "0", "actor": {"kind": "command", "id": None}, "reason": "a trial",
        }  # fmt: skip


def test_without_a_terminal_it_asks_for_the_option(site, commands):
    app = application(site)
    done = commands.run("client", "delete", app.client_id, status=2)
    assert "--yes" in done.output
    assert rows(site, Client) == 1
    commands.run("client", "delete", str(uuid4()), "--yes", status=1)


def test_what_names_the_client_has_to_change_first(site, site_with, tmp_path):
    server = site.client("resource-server")
    resource(site, "https://api.example.org/", "notes:read", server)
    done = Commands(site, tmp_path).run("client", "delete", server.client_id, "--yes", status=1)
    assert "https://api.example.org/" in done.output
    keys = site.client("password")
    for settings in (
        {"clients.web.id": keys.client_id, "clients.web.secret": keys.client_secret},
        {"admin_clients": keys.client_id},
    ):
        commands = Commands(site, tmp_path, **settings)
        done = commands.run("client", "delete", keys.client_id, "--yes", status=1)
        assert next(iter(settings)).replace("_", "-") in done.output
    with site.db() as db:
        assert db.get(Client, UUID(keys.client_id)) is not None


def test_a_setting_may_name_an_imported_client_by_its_number(site, tmp_path):
    number, secret, at = UUID(int=2), new_secret(), clock.now()
    with site.db() as db:
        of_client = {"id": number, "name": "Web", "type": "password", "scope": ""}
        db.add(Client(**of_client, secret_hash=hash_secret(secret), created_at=at, updated_at=at))
    commands = Commands(site, tmp_path, **{"clients.web.id": "2", "clients.web.secret": secret})
    assert "clients.web.id" in commands.run("client", "delete", "2", "--yes", status=1).output
    with site.db() as db:
        assert db.get(Client, number) is not None


@pytest.mark.both_databases
def test_a_code_of_before_gives_no_token(site):
    app = application(site)
    code = code_for(site, app)
    with site.db() as db:
        client_deletion.delete(acting(db, site.app.registry["authsite"]), db.get(Client, app.id))
    redeemed(site, app, code, status=401)
    assert rows(site, Family) == 0


@pytest.mark.both_databases
@pytest.mark.parametrize("model", [AuthorizationCode, Consent])
def test_it_waits_for_a_sign_in_and_not_the_sign_in_for_it(site, model):
    """A sign-in locks its code, or the consent, and then inserts what belongs to the client."""
    app = application(site)
    code_for(site, app)
    failed = []

    def delete():
        try:
            with site.db() as db:
                context = acting(db, site.app.registry["authsite"])
                client_deletion.delete(context, db.get(Client, app.id))
        except Exception as error:
            failed.append(error)

    deletion = threading.Thread(target=delete)
    with site.db() as db:
        db.scalar(select(model.client_id).where(model.client_id == app.id).with_for_update())
        with until_blocked(site.database):
            deletion.start()
        foreign_key = select(Client.id).where(Client.id == app.id)
        db.scalar(foreign_key.with_for_update(read=True, key_share=True))
    deletion.join()
    assert not failed
    assert [rows(site, each) for each in (Client, Consent, AuthorizationCode)] == [0, 0, 0]
