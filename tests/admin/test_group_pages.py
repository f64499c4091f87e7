"""The pages of groups: who can do what, and the confirming pages."""

import pytest
from sqlalchemy import select

from authsite.admin.groups import service as listing
from authsite.groups import members
from authsite.groups import service as groups
from authsite.groups.service import GroupValues
from authsite.oauth.models import Client
from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.service import Cause
from authsite.users.groups.labels import Group, groups_of
from authsite.users.models import User
from tests.support import administrators
from tests.support.factors import context
from tests.support.pages import csrf_of, submit
from tests.support.statements import noted

SCOPES = "\n  notes:read: Read notes\n  payments:write [groups]: Pay bills"
XSS = "<script>alert(1)</script>"


@pytest.fixture
def site(site_with):
    return site_with(**administrators.SETTINGS, scopes=SCOPES)


@pytest.fixture
def finance(site):
    """A group with a client that is for its members alone."""
    site.client(name=XSS)
    with site.db() as db:
        given = GroupValues(XSS, "payments:write")
        groups.create(context(site, db), "finance", given, Cause("command"))
        db.scalar(select(Client)).require_group = "finance"


def act(site, path, status=303, **fields):
    token = csrf_of(site.http.get(path, status=200))
    return site.http.post(path, {"csrf_token": token, **fields}, status=status)


def test_who_can_do_what(site, finance):
    administrators.signed_in(site, "viewer")
    page = site.http.get("/admin/groups", status=200)
    rows = {row.th.a.text: row.text for row in page.html.select("tbody tr")}
    assert list(rows)[:2] == ["authsite:viewer", "authsite:support"]
    assert "payments:write" in rows["finance"]
    assert XSS in rows["finance"]  # as text
    assert XSS not in page.text
    assert page.html.caption.text == "Who can do what"
    assert all(cell["scope"] for cell in page.html.select("th"))
    assert "Create a group" not in page.text
    one = site.http.get("/admin/groups/finance", status=200)
    assert "Pay bills" in one.text
    assert not one.html.select("nav[aria-label=Actions]")


@pytest.mark.parametrize("path", ["new-group", "groups/finance/change", "groups/finance/delete"])
def test_only_owners_open_the_confirming_pages(site, finance, path):
    administrators.signed_in(site, "security")
    site.http.get(f"/admin/{path}", status=403)


def test_an_owner_creates_changes_and_deletes_a_group(site):
    administrators.signed_in(site, "owner")
    answer = act(site, "/admin/new-group", name="ops", title="Ops", scopes="payments:write")
    assert "The group is created." in site.http.get(answer.location, status=200)
    page = act(site, "/admin/groups/ops/change", 422, title="Ops", scopes="notes:read")
    assert page.html.find(id="scopes")["aria-invalid"] == "true"
    act(site, "/admin/groups/ops/change", title="Operations", require_acr="aal2", scopes="")
    with site.db() as db:
        group = db.get(Group, "ops")
        assert (group.title, group.scopes, group.require_acr) == ("Operations", "", "aal2")
    site.http.post("/admin/groups/ops/delete", status=403)  # without the token
    answer = act(site, "/admin/groups/ops/delete", reason="no longer needed")
    assert "The group is deleted." in site.http.get(answer.location, status=200)
    with site.db() as db:
        event = db.scalars(select(AuditEvent).order_by(AuditEvent.id.desc())).first()
    assert (event.event, event.details["reason"]) == ("group.deleted", "no longer needed")


def test_the_page_before_a_deletion_says_how_many_members_leave(site, finance):
    administrators.signed_in(site, "owner")
    ann = site.user(confirmed=True)
    act(site, "/admin/groups/finance/add", user="ann@example.com")
    page = site.http.get("/admin/groups/finance/delete", status=200)
    assert "Members of the group: 1" in page.text
    assert "Tokens of members with a scope of this group: 0" in page.text
    keys = site.client(scope="payments:write notes:read")
    site.login(keys, scope="payments:write notes:read")
    site.login(keys, scope="notes:read")
    page = site.http.get("/admin/groups/finance/delete", status=200)
    assert "Tokens of members with a scope of this group: 1" in page.text
    act(site, "/admin/groups/finance/delete", 409)  # a client is for its members
    with site.db() as db:
        assert groups_of(db, ann.id) == ["finance"]


def test_members_come_and_go(site, finance):
    root = administrators.signed_in(site, "owner")
    ann = site.user(confirmed=True)
    act(site, "/admin/groups/finance/add", 422, user="unknown@example.com")
    act(site, "/admin/groups/finance/add", 403, user="root@example.com")  # oneself
    act(site, "/admin/groups/authsite:support/add", user=str(ann.id))
    act(site, "/admin/groups/finance/add", user="ann@example.com")
    with site.db() as db:
        assert groups_of(db, ann.id) == ["authsite:support", "finance"]
    page = site.http.get("/admin/groups/finance", status=200)
    assert "ann@example.com" in page.text
    act(site, f"/admin/groups/finance/members/{ann.id}/remove")
    with site.db() as db:
        assert groups_of(db, ann.id) == ["authsite:support"]
    site.http.get(f"/admin/groups/authsite:owner/members/{root.id}/remove", status=403)


def test_an_address_that_was_never_confirmed_names_no_one(site, finance):
    """Anyone can have registered with it, and waited for the group."""
    administrators.signed_in(site, "owner")
    ann = site.user()
    page = act(site, "/admin/groups/finance/add", 422, user="ANN@example.com")
    assert "Invite the person" in page.text
    with site.db() as db:
        assert groups_of(db, ann.id) == []
    act(site, "/admin/groups/finance/add", user=str(ann.id).upper())
    with site.db() as db:
        assert groups_of(db, ann.id) == ["finance"]


def test_reserved_groups_have_no_button_to_change_them(site):
    administrators.signed_in(site, "owner")
    page = site.http.get("/admin/groups/authsite:owner", status=200)
    assert [link.text for link in page.html.select("nav[aria-label=Actions] a")] == ["Add a user"]
    site.http.get("/admin/groups/authsite:owner/delete", status=403)


def test_a_large_group_is_counted_to_a_number(site, finance, monkeypatch):
    administrators.signed_in(site, "owner")
    for number in range(3):
        site.user(f"u{number}@example.com", confirmed=True)
        act(site, "/admin/groups/finance/add", user=f"u{number}@example.com")
    monkeypatch.setattr(listing, "COUNTED_TO", 2)
    page = site.http.get("/admin/groups/finance/change", status=200)
    assert "Members of the group: 2+" in page.text
    shown = site.http.get("/admin/groups/finance?limit=2", status=200)
    assert len(shown.html.select("#members ~ table tbody tr")) == 2
    following = shown.html.select("a[rel=next]")[0]["href"]
    rest = site.http.get(following, status=200)
    assert len(rest.html.select("#members ~ table tbody tr")) == 1


def test_an_unknown_group(site):
    administrators.signed_in(site, "viewer")
    site.http.get("/admin/groups/none", status=404)


def test_the_pages_that_end_an_owner_name_the_clients_that_may_administer(site):
    """They stay, and the owner may know their secrets."""
    administrators.signed_in(site, "owner")
    bo = administrators.make(site, "owner", "bo@example.com")
    cy = administrators.make(site, "support", "cy@example.com")
    pages = [f"groups/authsite:owner/members/{bo.id}/remove"]
    pages += [f"users/{bo.id}/{action}" for action in ("disable", "delete", "groups")]
    sentence = "an owner may know their secrets"
    assert not any(sentence in site.http.get(f"/admin/{page}", status=200).text for page in pages)
    site.client("personal", scope="admin:users:read")
    assert all(sentence in site.http.get(f"/admin/{page}", status=200).text for page in pages)
    assert sentence not in site.http.get(f"/admin/users/{cy.id}/disable", status=200).text


def test_values_that_stay_the_same_change_nothing(site, finance):
    """Of scopes and level that are given, all members are gone through."""
    administrators.signed_in(site, "owner")
    path = "/admin/groups/finance/change"
    form = next(each for each in site.http.get(path).forms.values() if "title" in each.fields)
    given = {name: form[name].value for name in ("title", "scopes", "require_acr")}
    with site.db() as db:
        ann = site.user("ann@example.com", confirmed=True)
        members.add(context(site, db), "finance", ann.id, Cause("command"))
    before = len(site.events())
    act(site, path, **given)
    assert site.events()[before:] == []
    act(site, path, **{**given, "title": "Finance"})
    assert site.events()[before:] == ["group.changed"]


def test_a_group_that_is_being_deleted_hinders_no_choice_of_others(site, finance):
    administrators.signed_in(site, "owner")
    ann = site.user("ann@example.com", confirmed=True)
    with site.db() as db:
        ctx, command = context(site, db), Cause("command")
        for name in ("big", "ops"):
            groups.create(ctx, name, GroupValues(name), command)
        members.add(ctx, "big", ann.id, command)
    with site.db() as db:
        assert groups.delete(context(site, db), "big", command)
    path = f"/admin/users/{ann.id}/groups"
    shown = site.http.get(path).html.select_one("input[name=shown]")["value"]
    act(site, path, shown=shown, **{"group:ops": "1"})
    with site.db() as db:
        assert list(groups_of(db, ann.id)) == ["big", "ops"]  # it leaves the other one later


@pytest.mark.parametrize("change", ["address", "epoch"])
def test_a_role_is_given_to_the_account_that_the_page_has_shown_or_to_none(site, change):
    """Who may write users could change the address a moment before, and own the role."""
    administrators.signed_in(site, "owner")
    ann = site.user("ann@example.com", confirmed=True)
    path = f"/admin/users/{ann.id}/groups"
    page = site.http.get(path, status=200)
    fields = {
        name: page.html.select_one(f"input[name={name}]")["value"] for name in ("shown", "account")
    }
    with site.db() as db:
        user = db.get(User, ann.id)
        if change == "address":
            user.email = "evil@example.com"
        else:
            user.epoch += 1
    role = {**fields, "group:authsite:viewer": "1"}
    answer = act(site, path, status=409, **role)
    assert "was changed since the page was opened" in answer.text
    with site.db() as db:
        assert list(groups_of(db, ann.id)) == []
    shown = answer.html.select_one("input[name=account]")["value"]
    act(site, path, **{**role, "account": shown})  # after a second look
    with site.db() as db:
        assert list(groups_of(db, ann.id)) == ["authsite:viewer"]


def test_a_role_goes_to_no_account_that_loses_the_address_while_the_form_is_read(site):
    administrators.signed_in(site, "owner")
    ann = site.user("ann@example.com", confirmed=True)
    path = "/admin/groups/authsite:viewer/add"
    token, changed = csrf_of(site.http.get(path, status=200)), []

    def change_soon(statement, _parameters):
        if changed == ["found"]:
            changed.append("changed")
            with site.db() as db:
                db.get(User, ann.id).email = "evil@example.com"
        elif not changed and "login_names" in statement:
            changed.append("found")

    fields = {"csrf_token": token, "user": "ann@example.com"}
    with noted(site.database, change_soon):
        answer = site.http.post(path, fields, status=409)
    assert changed == ["found", "changed"]
    assert "was changed since the page was opened" in answer.text
    with site.db() as db:
        assert list(groups_of(db, ann.id)) == []


def test_the_form_that_gives_a_client_scopes_says_what_one_of_them_can_do(site):
    administrators.signed_in(site, "owner")
    page = site.http.get("/admin/clients/new", status=200)
    assert "admin:users:write can take over any account" in page.text


def test_the_cookie_of_the_console_opens_nothing_after_a_logout(site):
    administrators.signed_in(site, "owner")
    site.http.get("/admin", status=200)
    before = dict(site.http.cookies)
    submit(site, "/logout", page="/account")
    for name, value in before.items():
        site.http.set_cookie(name, value)
    assert site.http.get("/admin", status="*").status_int != 200
