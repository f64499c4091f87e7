"""/v1/admin/users: who may do what, what it does, what is recorded and mailed."""

import pytest
from sqlalchemy import select, update

from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from authsite.platform.tasks.cleanup import steps
from authsite.users.groups.reserved import ADMIN_SCOPES
from authsite.users.models import User
from tests.support import administrators, factors
from tests.support.site import PASSWORD

USERS = "/v1/admin/users"
ALL = "admin:users:write admin:sessions:write admin:mail:write admin:limits:write"
ALL += " admin:factors:write admin:audit:read admin:exports:read"
WHY = {"reason": "asked for by phone"}


@pytest.fixture
def root(site):
    """The header of an administrator of the group security."""
    administrators.make(site, "security")
    headers = administrators.token(site, ALL)
    site.mails()
    return headers


@pytest.fixture
def ann(site):
    """A confirmed user."""
    return site.user("ann@example.com", confirmed=True)


def path(user, what=""):
    return f"{USERS}/{user.id}{what}"


def events(site, user, event):
    with site.db() as db:
        query = select(AuditEvent.details).filter_by(user_id=user.id, event=event)
        return list(db.scalars(query.order_by(AuditEvent.id)))


def row(site, user):
    with site.db() as db:
        return db.get(User, user.id)


def act(site, headers, user, what, body=WHY, status=200):
    return site.http.post_json(path(user, f"/{what}"), body, headers=headers, status=status).json


def subjects(site):
    return [mail["Subject"] for mail in site.mails()]


def test_a_list_has_users_and_a_link_to_the_next_part(site, root, ann):
    answer = site.http.get(f"{USERS}?limit=1&q=ann", headers=root)
    assert [user["id"] for user in answer.json["data"]] == [str(ann.id)]
    assert answer.json["next"] is None
    first = site.http.get(f"{USERS}?limit=1", headers=root)
    assert first.json["next"] in first.headers["Link"]
    rest = site.http.get(f"{USERS}?limit=1&cursor={first.json['next']}", headers=root).json
    assert rest["data"][0]["email"] != first.json["data"][0]["email"]
    site.http.get(f"{USERS}?cursor=x", headers=root, status=400)
    site.http.get(f"{USERS}?disabled=maybe", headers=root, status=422)
    assert site.http.get(f"{USERS}?disabled=true", headers=root).json["data"] == []


def test_one_user_has_what_administrators_need_to_know(site, root, ann):
    shown = site.http.get(path(ann), headers=root).json
    assert (shown["disabled_at"], shown["second_factor"], shown["groups"]) == (None, False, [])
    assert (shown["origin"], shown["last_login_at"]) == ("command", None)
    site.login(site.client())
    site.login(site.client(), "ann@example.com", PASSWORD)
    assert site.http.get(path(ann), headers=root).json["last_login_at"]
    site.http.get(f"{USERS}/x", headers=root, status=404)
    site.http.get(f"{USERS}/{administrators.PASSWORD}", headers=root, status=404)


def test_disable_and_enable_are_recorded_with_actor_and_reason_once(site, root, ann):
    tokens = site.login(site.client(), "ann@example.com", PASSWORD)
    missing = act(site, root, ann, "disable", {}, 422)
    assert missing["errors"][0]["field"] == "reason"
    assert act(site, root, ann, "disable")["disabled_at"]
    act(site, root, ann, "disable")
    [details] = events(site, ann, "user.disabled")
    assert details["reason"] == "asked for by phone"
    assert details["actor"]["kind"] == "user"
    site.me(tokens["access_token"], status=401)
    assert subjects(site) == ["Your account at authsite was disabled"]
    assert act(site, root, ann, "enable", {})["disabled_at"] is None
    act(site, root, ann, "enable", {})
    assert len(events(site, ann, "user.enabled")) == 1
    assert subjects(site) == ["Your account at authsite was enabled"]


def test_no_one_acts_at_who_may_do_more(site, root):
    owner = administrators.make(site, "owner", "boss@example.com")
    for what in ("disable", "sign-out", "confirm", "reset-password", "reset-factors"):
        assert act(site, root, owner, what, status=403)["errors"][0]["code"] == "outranked"
    site.http.delete_json(path(owner), {**WHY, "email": owner.email}, headers=root, status=403)
    site.http.get(path(owner), headers=root)  # to read is allowed


def test_a_client_does_nothing_to_an_administrator_and_exports_nothing(site, ann):
    viewer = administrators.make(site, "viewer")
    headers = administrators.client(site, ALL)
    act(site, headers, viewer, "sign-out", status=403)
    act(site, headers, ann, "reset-factors", status=403)
    site.http.get(path(ann, "/export"), headers=headers, status=403)
    act(site, headers, ann, "sign-out")
    assert events(site, ann, "user.signed_out")[0]["actor"]["kind"] == "client"


def test_without_the_scope_it_is_refused(site, ann):
    headers = administrators.client(site, "admin:users:read")
    site.http.get(path(ann), headers=headers)
    for what in ("disable", "sign-out", "reset-password", "reset-factors", "change-email"):
        body = {**WHY, "email": "x@example.com"} if what == "change-email" else WHY
        assert act(site, headers, ann, what, body, 403)["errors"][0]["code"] == "insufficient_scope"
    for what in ("sessions", "tokens", "factors", "mails", "events", "limits", "export"):
        site.http.get(path(ann, f"/{what}"), headers=headers, status=403)


def test_the_profile_changes_and_login_names_need_a_reason(site_with):
    site = site_with(**administrators.SETTINGS, login_identifiers="email username")
    administrators.make(site, "security")
    headers = administrators.token(site, ALL)
    ann = site.user("ann@example.com", confirmed=True)

    def change(body, status=200):
        return site.http.patch_json(path(ann), body, headers=headers, status=status).json

    assert change({"name": "Ann Lee"})["name"] == "Ann Lee"
    change({"name": "Ann Lee"})
    change({"username": "ann"}, 422)
    site.mails()
    assert change({"username": "ann", **WHY})["username"] == "ann"
    assert subjects(site) == ["Your sign-in name at authsite was changed"]
    change({"phone": "+4915112345678", **WHY}, 422)
    change({"password": "x", **WHY}, 422)  # unknown
    changed = [each["changed"] for each in events(site, ann, "user.changed")]
    assert changed == ["name", "username"]
    assert change({"name": "", "username": "", **WHY})["username"] is None


def test_an_address_is_proved_by_its_link_or_marked_confirmed(site, root, ann):
    body = {**WHY, "email": "new@example.com"}
    assert act(site, root, ann, "change-email", body, 202)["email"] == "ann@example.com"
    assert {mail["To"] for mail in site.mails()} == {"ann@example.com", "new@example.com"}
    shown = act(site, root, ann, "change-email", {**body, "confirmed": True})
    assert (shown["email"], shown["confirmed"]) == ("new@example.com", True)
    assert {mail["To"] for mail in site.mails()} == {"ann@example.com", "new@example.com"}
    [details] = events(site, ann, "email.changed")
    assert details["actor"]["kind"] == "user"
    taken = {**WHY, "email": "root@example.com"}
    assert act(site, root, ann, "change-email", taken, 422)["errors"][0]["code"] == "taken"


def test_links_are_mailed_but_not_to_a_disabled_user(site, root, ann):
    bob = site.user("bob@example.com")
    act(site, root, ann, "reset-password", {}, 202)
    act(site, root, bob, "send-verification", {}, 202)
    act(site, root, ann, "send-verification", {}, 202)  # confirmed: nothing to send
    assert {mail["To"] for mail in site.mails()} == {"ann@example.com", "bob@example.com"}
    assert events(site, ann, "recovery.requested")[0]["actor"]["kind"] == "user"
    assert events(site, bob, "verification.requested")[0]["actor"]["kind"] == "user"
    act(site, root, ann, "disable")
    assert act(site, root, ann, "reset-password", {}, 409)["errors"][0]["code"] == "conflict"


def test_mails_of_one_administrator_are_limited(site_with):
    site = site_with(**administrators.SETTINGS, limits="on", **{"limits.admin-mail": "2/hour"})
    administrators.make(site, "support")
    headers = administrators.token(site, ALL)
    ann = site.user("ann@example.com", confirmed=True)
    for status in (202, 202, 429):
        act(site, headers, ann, "reset-password", {}, status)


def test_an_address_is_marked_as_confirmed_once(site, root):
    bob = site.user("bob@example.com")
    assert act(site, root, bob, "confirm")["confirmed"] is True
    act(site, root, bob, "confirm")
    assert len(events(site, bob, "user.confirmed")) == 1
    assert len(site.mails()) == 1


def test_sign_ins_and_tokens_are_listed_and_ended(site, root, ann):
    keys = site.client()
    first = site.login(keys, "ann@example.com", PASSWORD)["access_token"]
    second = site.login(keys, "ann@example.com", PASSWORD)["access_token"]
    bearer = {"Authorization": f"Bearer {first}"}
    made = [
        site.http.post_json(
            "/v1/user/tokens", {"name": name, "current_password": PASSWORD}, headers=bearer
        ).json
        for name in ("one", "two", "three")
    ]
    site.mails()
    listed = site.http.get(path(ann, "/tokens"), headers=root).json["data"]
    assert {each["name"] for each in listed} == {"one", "two", "three"}
    site.http.delete(path(ann, f"/tokens/{made[0]['id']}"), headers=root, status=204)
    site.http.delete(path(ann, f"/tokens/{made[0]['id']}"), headers=root, status=404)
    site.http.delete(path(ann, "/tokens"), headers=root, status=204)
    assert site.http.get(path(ann, "/tokens"), headers=root).json["data"] == []
    assert len(site.mails()) == 2
    sessions = site.http.get(path(ann, "/sessions"), headers=root).json
    assert (len(sessions["data"]), sessions["next"]) == (2, None)
    site.http.delete(path(ann, f"/sessions/{sessions['data'][0]['id']}"), headers=root, status=204)
    assert site.mails() == []
    assert len(site.http.get(path(ann, "/sessions"), headers=root).json["data"]) == 1
    site.http.delete(path(ann, "/sessions"), headers=root, status=204)
    site.me(first, status=401)
    site.me(second, status=401)
    site.http.delete(path(ann, "/sessions/x"), headers=root, status=404)
    assert all("actor" in each for each in events(site, ann, "token.revoked"))


def test_factors_are_listed_without_secrets_and_removed(site, root, ann):
    factors.add_totp(site, ann)
    factors.add_passkey(site, ann)
    site.mails()
    listed = site.http.get(path(ann, "/factors"), headers=root).json["data"]
    assert [each["kind"] for each in listed] == ["totp", "passkey"]
    assert site.http.get(path(ann), headers=root).json["second_factor"] is True
    site.http.delete(path(ann, f"/factors/{listed[0]['id']}"), headers=root, status=204)
    assert factors.left(site, ann) == {"totp": 0, "passkeys": 1, "codes": 8}
    assert site.http.get(path(ann), headers=root).json["second_factor"] is False
    assert len(site.mails()) == 1
    site.http.delete(path(ann, "/factors"), headers=root, status=422)  # why?
    act(site, root, ann, "reset-factors")
    assert factors.left(site, ann) == {"totp": 0, "passkeys": 0, "codes": 0}
    viewer = administrators.make(site, "viewer", "viewer@example.com")
    assert act(site, root, viewer, "reset-factors", status=403)["errors"][0]["code"] == "outranked"


def test_limits_are_shown_and_lifted(site_with):
    site = site_with(**administrators.SETTINGS, limits="on")
    administrators.make(site, "support")
    headers = administrators.token(site, ALL)
    ann, keys = site.user("ann@example.com", confirmed=True), site.client()
    for _ in range(6):
        site.try_login(keys, username="ann@example.com", password="wrong horse battery")
    assert site.try_login(keys, username="ann@example.com").status_int == 429
    shown = site.http.get(path(ann, "/limits"), headers=headers).json["data"]
    assert "login-account" in {each["limit"] for each in shown}
    assert all(each["seconds"] > 0 for each in shown)
    site.http.delete_json(path(ann, "/limits"), WHY, headers=headers, status=204)
    site.http.delete_json(path(ann, "/limits"), WHY, headers=headers, status=204)
    assert len(events(site, ann, "limit.lifted")) == 1
    site.login(keys, "ann@example.com", PASSWORD)


def test_mails_and_events_of_a_user(site, root, ann):
    act(site, root, ann, "reset-password", {}, 202)
    act(site, root, ann, "sign-out", {})
    first = site.http.get(path(ann, "/mails?limit=1"), headers=root).json
    rest = site.http.get(path(ann, f"/mails?cursor={first['next']}"), headers=root).json
    assert [each["letter"] for each in (*first["data"], *rest["data"])] == [
        "sign_ins_ended", "reset"
    ]  # fmt: skip
    found = site.http.get(path(ann, "/events"), headers=root).json["data"]
    assert [each["event"] for each in found[:2]] == ["user.signed_out", "recovery.requested"]


def test_the_data_of_a_user_are_exported_with_an_event(site, root, ann):
    data = site.http.get(path(ann, "/export"), headers=root).json
    assert data["user"]["email"] == "ann@example.com"
    assert events(site, ann, "user.exported")[0]["by"] == "administrator"


def delete(site, headers, user, status, **body):
    body = {**WHY, "email": user.email, **body}
    return site.http.delete_json(path(user), body, headers=headers, status=status)


def test_a_deleted_user_is_disabled_for_a_week_and_then_erased(site, root, ann):
    delete(site, root, ann, 422, email="bob@example.com")
    delete(site, root, ann, 422, reason=" ")
    at = delete(site, root, ann, 202, email="Ann@Example.com").json["delete_at"]
    assert delete(site, root, ann, 202).json["delete_at"] == at
    assert len(events(site, ann, "user.deletion_scheduled")) == 1
    [mail] = site.mails()
    assert "will be deleted" in mail["Subject"]
    assert "7 days" in mail.get_body(("plain",)).get_content()
    assert row(site, ann).disabled_at is not None
    purge(site)
    assert row(site, ann) is not None
    with site.db() as db:
        db.execute(update(User).where(User.id == ann.id).values(delete_at=clock.now()))
    purge(site)
    assert row(site, ann) is None
    assert events(site, ann, "user.erased") == [{"why": "due"}]


def test_who_is_enabled_again_is_not_erased(site, root, ann):
    delete(site, root, ann, 202)
    act(site, root, ann, "enable", {})
    assert row(site, ann).delete_at is None
    purge(site)
    assert row(site, ann) is not None


def test_only_an_owner_erases_at_once(site, root, ann):
    delete(site, root, ann, 403, now=True)
    administrators.make(site, "owner", "boss@example.com")
    boss = administrators.token(site, ALL, "boss@example.com")
    site.mails()
    delete(site, boss, ann, 204, now=True)
    assert row(site, ann) is None
    [details] = events(site, ann, "user.erased")
    assert (details["why"], details["reason"]) == ("administrator", WHY["reason"])
    assert subjects(site) == ["Your account at authsite was deleted"]
    site.http.get(path(ann), headers=boss, status=404)


def test_the_last_owner_stays(site):
    boss = administrators.make(site, "owner")
    headers = administrators.token(site, " ".join(ADMIN_SCOPES))
    assert act(site, headers, boss, "disable", status=409)["errors"][0]["code"] == "last_owner"
    assert delete(site, headers, boss, 409).json["errors"][0]["code"] == "last_owner"
    delete(site, headers, boss, 409, now=True)


def test_an_old_proof_is_not_enough_for_what_matters_most(site, root, ann, frozen):
    frozen.advance(11 * 60)
    for what in ("confirm", "reset-factors"):
        answer = act(site, root, ann, what, status=401)
        assert answer["errors"][0]["code"] == "insufficient_user_authentication"
    act(site, root, ann, "disable")


def purge(site):
    """What the hourly cleanup does."""
    services = site.app.registry["authsite"]
    with site.database.autocommit.connect() as connection:
        for _step in steps(connection, services):
            pass
