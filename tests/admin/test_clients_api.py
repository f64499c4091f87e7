"""/v1/admin/clients: who may change clients, and where their secrets are."""

import json
from uuid import UUID

import pytest
from sqlalchemy import select

from authsite.oauth.models import Client
from authsite.platform.audit.models import AuditEvent
from tests.support import administrators
from tests.support.applications import resource
from tests.support.site import bearer

CLIENTS = "/v1/admin/clients"
WIKI = {"name": "Wiki", "type": "server", "redirect_uris": ["https://wiki.example.org/callback"]}
SHOP = {"name": "Shop", "type": "password", "scope": "notes:read"}


class Api:
    """Requests with one header."""

    def __init__(self, site, headers):
        self.site, self.headers = site, headers

    def get(self, path="", status=200):
        return self.site.http.get(f"{CLIENTS}{path}", headers=self.headers, status=status)

    def post(self, path="", status=200, **body):
        return self.site.http.post_json(
            f"{CLIENTS}{path}", body, headers=self.headers, status=status
        )

    def patch(self, id, status=200, **body):
        return self.site.http.patch_json(
            f"{CLIENTS}/{id}", body, headers=self.headers, status=status
        )

    def delete(self, id, status=204, **body):
        return self.site.http.delete_json(
            f"{CLIENTS}/{id}", body, headers=self.headers, status=status
        )


@pytest.fixture
def owner(site):
    return administrators.make(site, "owner")


@pytest.fixture
def api(site, owner):
    return Api(site, administrators.token(site, "admin:clients:write"))


def trail(site, client_id):
    with site.db() as db:
        rows = db.scalars(select(AuditEvent).order_by(AuditEvent.id)).all()
    return [row for row in rows if str(row.client_id) == client_id and row.event[:6] == "client"]


def code(answer):
    return answer.json["errors"][0]["code"]


def test_an_owner_registers_a_client(site, api, owner):
    answer = api.post(status=201, **SHOP, reason="for the shop")
    made = answer.json
    assert answer.headers["Cache-Control"] == "no-store"
    assert (made["name"], made["scope"], made["secrets"]) == ("Shop", "notes:read", 1)
    [event] = trail(site, made["client_id"])
    assert event.details == {
        "actor": {"kind": "user", "id": str(owner.id)}, "reason": "for the shop",
    }  # fmt: skip
    site.user()
    form = {"client_id": made["client_id"], "client_secret": made["client_secret"]}
    login = {"grant_type": "password", "username": "ann@example.com", "password": "x"}
    refused = site.http.post("/v1/oauth/token", {**form, **login}, status=400)
    assert refused.json["error"] == "invalid_grant"  # the client itself was accepted


def test_the_secret_is_nowhere_else(site, api):
    made = api.post(status=201, **SHOP).json
    rotated = api.post(f"/{made['client_id']}/rotate-secret", reason="old").json
    shown = api.get(f"/{made['client_id']}").json
    assert (shown["secrets"], "client_secret" in shown) == (2, False)
    others = [api.get().text, json.dumps(shown)]
    others += [json.dumps(row.details) for row in trail(site, made["client_id"])]
    for secret in (made["client_secret"], rotated["client_secret"]):
        assert secret
        assert not any(secret in text for text in others)


def test_fields_are_those_of_the_command(api):
    made = api.post(status=201, **WIKI, first_party=True, id_token_lifetime="10m").json
    assert made["client_secret"]
    assert (made["first_party"], made["id_token_lifetime"]) == (True, 600)
    changed = api.patch(made["client_id"], id_token_lifetime=0, tos_uri="https://example.org/t")
    assert (changed.json["id_token_lifetime"], changed.json["first_party"]) == (None, True)
    assert api.patch(made["client_id"], tos_uri="").json["tos_uri"] is None
    assert (made["consent"], made["id_token_claims"]) == ("ask", "both")
    assert api.patch(made["client_id"], consent="none").json["consent"] == "none"
    assert api.patch(made["client_id"], name="W").json["consent"] == "none"
    assert api.patch(made["client_id"], consent="").json["consent"] == "ask"
    assert code(api.patch(made["client_id"], 422, consent="maybe")) == "invalid"
    uris = {"redirect_uris": ["app:/x"], "name": "Phone"}
    public = api.post(status=422, type="native", **uris)
    assert code(public) == "invalid"


def test_a_public_client_has_no_secret(api):
    uri = "https://app.example.org/callback"
    made = api.post(status=201, name="App", type="browser", redirect_uris=[uri]).json
    assert (made["client_secret"], made["secrets"]) == (None, 0)
    assert code(api.post(f"/{made['client_id']}/rotate-secret", 422)) == "invalid"


@pytest.mark.parametrize(
    "body",
    [
        {"name": "x", "type": "magic"},
        {"name": "", "type": "password"},
        {"name": "x", "type": "server"},
        {"name": "x", "type": "personal", "scope": "admin:rockets:write"},
        {"name": "x", "type": "personal", "default_scope": "admin:users:read"},
        {**SHOP, "require_group": "unknown"},
        {**SHOP, "client_secret": "mine"},
        {**SHOP, "first_party": True},
    ],
)
def test_what_a_client_cannot_be(site, api, body):
    api.post(status=422, **body)
    with site.db() as db:
        assert db.scalar(select(Client).where(Client.name == "x")) is None


def test_a_repeated_change_is_no_event(site, api):
    id = api.post(status=201, **WIKI).json["client_id"]
    for _ in range(2):
        assert api.patch(id, name="Notes", redirect_uris=WIKI["redirect_uris"]).status_int == 200
        assert api.post(f"/{id}/disable").json["enabled"] is False
    for _ in range(2):
        assert api.post(f"/{id}/enable").json["enabled"] is True
    api.post(f"/{id}/rotate-secret")
    for _ in range(2):
        assert api.post(f"/{id}/retire-secret").json["secrets"] == 1
    names = ["created", "changed", "disabled", "enabled", "secret_rotated", "secret_retired"]
    assert [row.event for row in trail(site, id)] == [f"client.{name}" for name in names]


def test_disabling_ends_the_tokens_of_the_client(site, api):
    site.user()
    keys = site.client()
    token = site.login(keys)["access_token"]
    api.post(f"/{keys.client_id}/disable", reason="leaked")
    site.http.get("/v1/user", headers=bearer(token), status=401)


def test_a_program_gets_scopes_of_administrators_by_an_owner(site, api):
    made = api.post(status=201, name="reports", type="personal", scope=["admin:users:read"]).json
    form = {"client_id": made["client_id"], "client_secret": made["client_secret"]}
    asked = {"grant_type": "client_credentials", "scope": "admin:users:read"}
    token = site.http.post("/v1/oauth/token", {**form, **asked}).json["access_token"]
    shown = site.http.get("/v1/admin/me", headers=bearer(token)).json
    assert (shown["client"], shown["scopes"]) == (made["client_id"], ["admin:users:read"])


def test_a_program_changes_no_client(site):
    api = Api(site, administrators.client(site, "admin:clients:write"))
    keys = site.client("personal")
    assert code(api.post(status=403, **SHOP)) == "insufficient_scope"
    answers = [api.patch(keys.client_id, 403, scope="admin:users:write")]
    for action in ("rotate-secret", "retire-secret", "disable", "enable"):
        answers.append(api.post(f"/{keys.client_id}/{action}", 403))
    assert {code(each) for each in answers} == {"insufficient_scope"}
    assert api.get(f"/{keys.client_id}").json["scope"] == ""


@pytest.mark.parametrize("role", ["viewer", "support", "security"])
def test_others_than_owners_only_read(site, role):
    administrators.make(site, role)
    keys = site.client(name="other")
    api = Api(site, administrators.token(site, "admin:clients:write admin:clients:read"))
    assert api.get(f"/{keys.client_id}").json["name"] == "other"
    answer = api.patch(keys.client_id, 403, scope="admin:users:write")
    assert 'scope="admin:clients:write"' in answer.headers["WWW-Authenticate"]


def test_an_unknown_client(api):
    for id in ("5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11", "none"):
        assert code(api.get(f"/{id}", 404)) == "not_found"
        api.post(f"/{id}/disable", 404)


def test_the_list_is_complete_while_clients_are_added(site, api):
    for number in range(4):
        site.client(name=f"shop {number}")
    seen, path = [], "?limit=2&name=shop"
    while path:
        answer = api.get(path).json
        seen += [each["name"] for each in answer["data"]]
        site.client(name=f"shop new {len(seen)}")
        path = answer["next"] and f"?limit=2&name=shop&cursor={answer['next']}"
    assert seen == ["shop 3", "shop 2", "shop 1", "shop 0"]
    cursor = api.get("?limit=1&name=shop").json["next"]
    assert code(api.get(f"?limit=1&name=other&cursor={cursor}", 400)) == "invalid_cursor"
    assert [each["name"] for each in api.get("?disabled=true").json["data"]] == []


def test_a_client_is_deleted_when_it_is_disabled_and_its_name_is_typed(site, api):
    id = api.post(status=201, **WIKI).json["client_id"]
    assert code(api.delete(id, 409, name=WIKI["name"])) == "conflict"
    api.post(f"/{id}/disable")
    refused = api.delete(id, 422, name="another").json
    assert refused["errors"][0]["field"] == "name"
    api.delete(id, 204, name=WIKI["name"], reason="a trial")
    api.delete(id, 404, name=WIKI["name"])
    with site.db() as db:
        assert db.get(Client, UUID(id)) is None
    assert trail(site, id)[-1].event == "client.deleted"
    assert trail(site, id)[-1].details["reason"] == "a trial"


def test_a_client_that_a_resource_names_is_not_deleted(site, api):
    server = site.client("resource-server")
    resource(site, "https://api.example.org/", "notes:read", server)
    api.post(f"/{server.client_id}/disable")
    refused = api.delete(server.client_id, 409, name="test")
    assert "https://api.example.org/" in refused.json["message"]
