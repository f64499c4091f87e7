"""/v1/admin/groups: who may change groups and their members, and what that does."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from sqlalchemy import select, update

from authsite.groups import administrators as roles
from authsite.groups import applying
from authsite.groups import service as groups
from authsite.groups.service import GroupValues
from authsite.oauth.models import Client, Family
from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.service import Cause
from authsite.platform.runtime import clock
from authsite.users.errors import LastOwner
from authsite.users.groups.labels import Group, GroupMember
from authsite.users.models import User
from tests.support import administrators
from tests.support.factors import context
from tests.support.site import bearer
from tests.support.statements import counted

GROUPS = "/v1/admin/groups"
SCOPES = "\n  notes:read: Read notes\n  payments:write [groups]: Pay"
FINANCE = {"name": "finance", "title": "Finance", "scopes": ["payments:write"]}


@pytest.fixture
def site(site_with):
    return site_with(**administrators.SETTINGS, scopes=SCOPES)


@pytest.fixture
def api(site):
    """The API as an owner calls it."""
    owner = administrators.make(site, "owner")
    return Api(site, administrators.token(site, "admin:groups:write"), owner)


class Api(SimpleNamespace):
    """Requests with one header."""

    def __init__(self, site, headers, user=None):
        super().__init__(site=site, headers=headers, user=user)

    def __call__(self, method, path="", status=200, **body):
        do = self.site.http.get if method == "get" else getattr(self.site.http, f"{method}_json")
        more = {} if method == "get" else {"params": body}
        return do(f"{GROUPS}{path}", headers=self.headers, status=status, **more)


def events(site, name):
    with site.db() as db:
        return db.scalars(select(AuditEvent).where(AuditEvent.event == name)).all()


def members(site, name):
    with site.db() as db:
        query = select(GroupMember.user_id).where(GroupMember.group_name == name)
        return [str(id_) for id_ in db.scalars(query)]


def test_an_owner_creates_changes_and_deletes_a_group(site, api):
    made = api("post", status=201, **FINANCE, reason="asked for").json
    assert (made["scopes"], made["member_count"]) == (["payments:write"], 0)
    [event] = events(site, "group.created")
    actor = {"kind": "user", "id": str(api.user.id)}
    assert (event.details["actor"], event.details["reason"]) == (actor, "asked for")
    assert api("get", "/finance").json == made
    assert api("patch", "/finance", title="Money").json["title"] == "Money"
    assert api("get", "/finance").json["scopes"] == ["payments:write"]  # what is absent stays
    api("delete", "/finance", 204)
    assert api("get", "/finance", 404).json["errors"][0]["code"] == "not_found"
    assert [each.details["actor"] for each in events(site, "group.deleted")] == [actor]


@pytest.mark.parametrize(
    ("status", "code", "body"),
    [
        (409, "conflict", FINANCE),
        (403, "not_allowed", {**FINANCE, "name": "authsite:more"}),
        (422, "invalid", {**FINANCE, "name": "Fin ance"}),
        (422, "invalid", {**FINANCE, "name": "more", "scopes": ["admin:users:read"]}),
        (422, "invalid", {**FINANCE, "name": "more", "scopes": ["notes:read"]}),
        (422, "invalid", {**FINANCE, "name": "more", "members": ["root@example.com"]}),
        (422, "required", {"name": "more"}),
    ],
)
def test_what_a_group_cannot_be(api, status, code, body):
    api("post", status=201, **FINANCE)
    assert api("post", status=status, **body).json["errors"][0]["code"] == code


@pytest.mark.parametrize("method", ["patch", "delete"])
def test_reserved_groups_stay_as_they_are(api, method):
    body = {"title": "Mine"} if method == "patch" else {}
    answer = api(method, "/authsite:viewer", 403, **body)
    assert answer.json["errors"][0]["code"] == "not_allowed"


def test_the_list_goes_on_where_it_was(site, api):
    for name in ("b", "a", "c"):
        api("post", status=201, name=name, title=name)
    names, path = [], "?limit=3"
    while path:
        answer = api("get", path)
        names += [each["name"] for each in answer.json["data"]]
        path = answer.json["next"] and f"?limit=3&cursor={answer.json['next']}"
        assert ("Link" in answer.headers) is bool(path)
    reserved = [f"authsite:{each}" for each in ("viewer", "support", "security", "owner")]
    assert names == [*reserved, "a", "b", "c"]


def test_a_cursor_of_another_caller_is_unknown(site, api):
    cursor = api("get", "?limit=1").json["next"]
    other = Api(site, administrators.client(site, "admin:groups:read"))
    assert other("get", f"?limit=1&cursor={cursor}", 400).json["errors"][0]["code"] == (
        "invalid_cursor"
    )


def test_members_come_and_go(site, api):
    ann = site.user()
    api("post", status=201, **FINANCE)
    path = f"/finance/members/{ann.id}"
    for _ in range(2):
        api("put", path, 204, reason="on call")
    assert [each.details["reason"] for each in events(site, "group.member_added")] == ["on call"]
    [row] = api("get", "/finance/members").json["data"]
    assert (row["id"], row["email"]) == (str(ann.id), "ann@example.com")
    assert api("get", path).json == row
    for _ in range(2):
        api("delete", path, 204)
    assert len(events(site, "group.member_removed")) == 1
    api("get", path, 404)


def test_an_empty_body_needs_no_type(site, api):
    ann = site.user()
    api("post", status=201, **FINANCE)
    site.http.put(f"{GROUPS}/finance/members/{ann.id}", headers=api.headers, status=204)
    assert members(site, "finance") == [str(ann.id)]


def test_no_one_changes_their_own_groups(site, api):
    api("post", status=201, **FINANCE)
    for group in ("finance", "authsite:security"):
        answer = api("put", f"/{group}/members/{api.user.id}", 403)
        assert answer.json["errors"][0]["code"] == "outranked"
    api("delete", f"/authsite:owner/members/{api.user.id}", 403)
    assert members(site, "finance") == members(site, "authsite:security") == []


def test_an_owner_makes_an_administrator(site, api):
    ann = site.user()
    path = f"/authsite:support/members/{ann.id}"
    assert api("put", path, 422).json["errors"][0]["code"] == "email_not_confirmed"
    bo = site.user("bo@example.com", confirmed=True)
    site.mails()
    api("put", f"/authsite:support/members/{bo.id}", 204)
    assert events(site, "admin.granted")[-1].details["actor"]["id"] == str(api.user.id)
    assert sorted(mail["To"] for mail in site.mails()) == ["bo@example.com", "root@example.com"]


@pytest.mark.parametrize("role", ["viewer", "support", "security"])
def test_others_than_owners_change_no_groups(site, role):
    administrators.make(site, role)
    api = Api(site, administrators.token(site, "admin:groups:write"))
    ann = site.user(confirmed=True)
    answer = api("put", f"/authsite:{role}/members/{ann.id}", 403)
    assert 'scope="admin:groups:write"' in answer.headers["WWW-Authenticate"]
    api("post", status=403, **FINANCE)


def test_an_owner_is_outranked_by_a_token_with_less(site, api):
    """What a token may do counts, not what its user may do."""
    other = administrators.make(site, "owner", "other@example.com")
    answer = api("delete", f"/authsite:owner/members/{other.id}", 403)
    assert answer.json["errors"][0]["code"] == "outranked"


def test_a_client_never_decides_who_is_an_administrator(site):
    owner = administrators.make(site, "owner")
    ann = site.user(confirmed=True)
    api = Api(site, administrators.client(site, "admin:groups:write"))
    api("post", status=201, **FINANCE)
    api("put", f"/finance/members/{ann.id}", 204)
    answer = api("put", f"/authsite:viewer/members/{ann.id}", 403)
    assert answer.json["errors"][0]["code"] == "insufficient_scope"
    answer = api("put", f"/finance/members/{owner.id}", 403)
    assert answer.json["errors"][0]["code"] == "outranked"
    api("delete", f"/authsite:owner/members/{owner.id}", 403)
    assert members(site, "authsite:owner") == [str(owner.id)]


def test_a_group_that_a_client_requires_stays(site, api):
    api("post", status=201, **FINANCE)
    site.client()
    with site.db() as db:
        client = db.scalar(select(Client).where(Client.name == "test"))
        client.require_group = "finance"
    answer = api("delete", "/finance", 409)
    assert answer.json["errors"][0]["code"] == "conflict"


def test_a_large_group_loses_a_scope_in_batches(site, api, monkeypatch):
    """Every batch is committed; the tokens of all members end, and no others."""
    monkeypatch.setattr(applying, "BATCH", 2)
    api("post", status=201, **FINANCE)
    keys = site.client(scope="payments:write notes:read")
    tokens = {}
    for number in range(5):
        email = f"u{number}@example.com"
        user = site.user(email)
        api("put", f"/finance/members/{user.id}", 204)
        tokens[email] = site.login(keys, email, scope="payments:write notes:read")["access_token"]
    site.user("z@example.com")
    other = site.login(keys, "z@example.com", scope="notes:read")["access_token"]
    api("patch", "/finance", scopes=[])
    for token in tokens.values():
        site.http.get("/v1/user", headers=bearer(token), status=401)
    site.me(other)
    api("delete", "/finance", 204)
    with site.db() as db:
        assert db.get(Group, "finance") is None
        labels = db.scalars(select(User.labels).where(User.email.startswith("u"))).all()
        assert labels == [None] * 5
    assert members(site, "finance") == []


def test_the_last_owner_stays(site, api):
    """By a client, by the owner, and by the command no other than a second one goes."""
    owner = api.user
    api("delete", f"/authsite:owner/members/{owner.id}", 403)
    full = " ".join(sorted(administrators.ADMIN_SCOPES))
    other = administrators.make(site, "owner", "other@example.com")
    both = Api(site, administrators.token(site, full, "root@example.com"))
    both("delete", f"/authsite:owner/members/{other.id}", 204)
    assert members(site, "authsite:owner") == [str(owner.id)]
    with site.db() as db:
        last = context(site, db), db.get(User, owner.id), "owner", Cause("command")
        with pytest.raises(LastOwner):
            roles.revoke(*last)


def test_a_client_changes_no_group_of_an_administrator(site, api):
    """What members may do; they do not depend on the title."""
    api("post", status=201, **FINANCE)
    ann = site.user("ann@example.com", confirmed=True)
    api("put", f"/finance/members/{ann.id}", 204)
    by_client = Api(site, administrators.client(site, "admin:groups:write"))
    by_client("patch", "/finance", require_acr="aal2")
    api("put", f"/authsite:viewer/members/{ann.id}", 204)
    changes = ("patch", {"scopes": []}), ("patch", {"require_acr": ""}), ("delete", {})
    for method, body in changes:
        answer = by_client(method, "/finance", 403, **body)
        assert answer.json["errors"][0]["code"] == "outranked"
    by_client("patch", "/finance", title="Money")
    assert members(site, "finance") == [str(ann.id)]
    with site.db() as db:
        assert db.get(Group, "finance").scopes == "payments:write"
    api("patch", "/finance", scopes=[])
    api("delete", "/finance", 204)


def test_a_repeated_change_is_no_event(site, api):
    with site.db() as db:
        groups.create(context(site, db), "ops", GroupValues("Ops"), Cause("command"))
    for _ in range(2):
        api("patch", "/ops", title="Operations")
    assert len(events(site, "group.changed")) == 1


def test_a_change_needs_a_recent_proof_and_reading_does_not(site, api):
    with site.db() as db:
        db.execute(update(Family).values(auth_at=clock.now() - timedelta(minutes=11)))
    answer = api("post", status=401, **FINANCE)
    assert "max_age=" in answer.headers["WWW-Authenticate"]
    api("get", "/authsite:owner")
    api("get", "/finance", 404)


def test_the_members_of_all_groups_of_a_part_are_counted_by_one_statement(api):
    for number in range(12):
        api("post", status=201, name=f"team{number}", title="Team")
    seen = []
    for limit in (5, 16):
        with counted(api.site.database) as statements:
            shown = api("get", f"?limit={limit}").json["data"]
        seen.append(len(statements))
    assert len(shown) == 16
    assert {each["name"]: each["member_count"] for each in shown}["authsite:owner"] == 1
    assert seen[0] == seen[1]
