"""/v1/admin/users: who may do what, what it does, what is recorded and mailed."""

from datetime import timedelta

from sqlalchemy import update

from authsite.platform.runtime import clock
from authsite.users.models import User
from tests.support import administrators
from tests.support.site import PASSWORD
from tests.verification.story import revert_link
from tests.verification.test_cancel_change import press

from .calls import ALL, USERS, WHY, act, events, path, row, subjects


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


def test_a_change_of_address_that_an_administrator_confirms_can_be_taken_back(site, root, ann):
    long_ago = clock.now() - timedelta(days=30)
    with site.db() as db:
        db.execute(update(User).where(User.id == ann.id).values(email_verified_at=long_ago))
    body = {**WHY, "email": "new@example.com", "confirmed": True}
    act(site, root, ann, "change-email", body)
    [notice] = [mail for mail in site.mails() if mail["To"] == "ann@example.com"]
    press(site, revert_link(notice))
    assert row(site, ann).email == "ann@example.com"


def test_a_second_change_leaves_the_user_the_link_of_the_first(site, root, ann):
    """Else an administrator takes an account for good, by two changes one after the other."""
    long_ago = clock.now() - timedelta(days=30)
    with site.db() as db:
        db.execute(update(User).where(User.id == ann.id).values(email_verified_at=long_ago))
    body = {**WHY, "confirmed": True}
    act(site, root, ann, "change-email", {**body, "email": "new@example.com"})
    act(site, root, ann, "change-email", {**body, "email": "third@example.com"})
    [notice] = [mail for mail in site.mails() if mail["To"] == "ann@example.com"]
    press(site, revert_link(notice))
    assert row(site, ann).email == "ann@example.com"


def test_a_change_back_leaves_no_link_to_the_address_in_between(site, root, ann):
    long_ago = clock.now() - timedelta(days=30)
    with site.db() as db:
        db.execute(update(User).where(User.id == ann.id).values(email_verified_at=long_ago))
    body = {**WHY, "confirmed": True}
    for address in ("new@example.com", "ann@example.com"):
        act(site, root, ann, "change-email", {**body, "email": address})
    notices = [mail for mail in site.mails() if mail["To"] == "new@example.com"]
    assert notices
    assert not any(map(revert_link, notices))
    assert row(site, ann).email == "ann@example.com"


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


def test_an_old_proof_is_not_enough_for_what_matters_most(site, root, ann, frozen):
    frozen.advance(11 * 60)
    for what in ("confirm", "reset-factors"):
        answer = act(site, root, ann, what, status=401)
        assert answer["errors"][0]["code"] == "insufficient_user_authentication"
    act(site, root, ann, "disable")
