"""The page of a user and its confirming pages."""

from datetime import timedelta

import pytest

from authsite.groups import administrators as reserved_groups
from authsite.platform.audit.service import Cause
from authsite.users.models import User
from tests.support import administrators
from tests.support.factors import context
from tests.support.mails import text_of
from tests.support.pages import csrf_of

from .acting import ANN, act, last_event, path_of, sign_in_was, stored

ROOT = "root@example.com"


def test_the_page_has_what_is_known_and_what_may_be_done(site, ann):
    administrators.signed_in(site, "security")
    page = site.http.get(path_of(ann), status=200)
    assert page.html.h1.text == ANN
    links = [link.text for link in page.html.select("nav[aria-label=Actions] a")]
    assert "Disable" in links
    assert "Enable" not in links
    headings = [each.text for each in page.html.select("h2")]
    assert headings == [
        "Sign-ins",
        "Second factors and passkeys",
        "Groups",
        "Limits",
        "Mails",
        "Audit trail",
    ]
    for table in page.html.select("table"):
        assert table.caption.text
        assert all(cell["scope"] for cell in table.select("th"))
    assert "Change the groups" not in page.text  # only owners may


def test_a_viewer_sees_no_actions_and_may_not_act(site, ann):
    administrators.signed_in(site, "viewer")
    page = site.http.get(path_of(ann), status=200)
    assert not page.html.select("nav[aria-label=Actions]")
    site.http.get(path_of(ann, "disable"), status=403)


def test_the_confirming_page_says_what_happens_and_who_gets_a_mail(site, ann):
    administrators.signed_in(site, "security")
    page = site.http.get(path_of(ann, "disable"), status=200)
    assert page.html.h1.text == f"Disable {ANN}?"
    said = [each.text for each in page.html.select("ul.dots li")]
    assert "All sign-ins and tokens of the user end now, and the user cannot sign in." in said
    assert f"{ANN} gets an e-mail about this." in said
    assert stored(site, ann).disabled_at is None


def test_the_button_acts_and_the_trail_has_actor_and_reason(site, ann):
    root = administrators.signed_in(site, "security")
    answer = act(site, ann, "disable", reason="asked by phone")
    page = site.http.get(answer.location, status=200)
    assert "The user is disabled." in page.text
    assert stored(site, ann).disabled_at
    details = last_event(site, "user.disabled").details
    assert details["actor"] == {"kind": "user", "id": str(root.id)}
    assert details["reason"] == "asked by phone"
    row = page.html.select("#events ~ table tbody tr")[0]
    assert ROOT in row.text
    assert "asked by phone" in row.text
    every = next(each for each in page.html.select("a.button") if "All events" in each.text)
    assert "asked by phone" in site.http.get(every["href"], status=200).text


def test_a_missing_reason_is_asked_for_at_its_field(site, ann):
    administrators.signed_in(site, "security")
    page = act(site, ann, "disable", status=422, reason=" ")
    assert page.html.find(id="reason")["aria-invalid"] == "true"
    assert stored(site, ann).disabled_at is None


def test_a_form_without_the_token_does_nothing(site, ann):
    administrators.signed_in(site, "security")
    site.http.post(path_of(ann, "disable"), {"reason": "x"}, status=403)
    assert stored(site, ann).disabled_at is None


def test_an_old_proof_leads_to_the_step_up_and_back_to_the_form(site, ann):
    administrators.signed_in(site, "security")
    path = path_of(ann, "change-email")
    token = csrf_of(site.http.get(path, status=200))
    given = {"csrf_token": token, "email": "new@example.com", "reason": "hears & sees"}
    sign_in_was(site, timedelta(minutes=11))
    answer = site.http.post(path, given, status=302)
    assert "/login/verify?next=" in answer.location
    assert "unsaved" not in answer.location
    cookie = site.http.cookies["authsite-admin-form"]
    assert "example" not in cookie  # it is sealed
    assert stored(site, ann).email == ANN
    sign_in_was(site, timedelta())
    page = site.http.get(path, status=200)
    assert page.html.find(id="email")["value"] == "new@example.com"
    assert page.html.find(id="reason")["value"] == "hears & sees"
    assert "Nothing has been changed yet." in page.text
    again = site.http.get(path, status=200)  # only once
    assert not again.html.find(id="email").get("value")


@pytest.mark.parametrize("action", ["confirm", "change-email", "delete", "export"])
def test_a_page_that_needs_a_recent_proof_asks_for_it_before_it_is_shown(site, ann, action):
    administrators.signed_in(site, "security")
    sign_in_was(site, timedelta(minutes=11))
    answer = site.http.get(path_of(ann, action), status=302)
    assert "max_age=600" in answer.location
    site.http.get(path_of(ann, "disable"), status=200)


def test_a_stored_form_is_of_its_page_and_user_alone(site, ann):
    administrators.signed_in(site, "security")
    path = path_of(ann, "change-email")
    token = csrf_of(site.http.get(path, status=200))
    sign_in_was(site, timedelta(minutes=11))
    given = {"csrf_token": token, "email": "new@example.com", "reason": "x"}
    site.http.post(path, given, status=302)
    sign_in_was(site, timedelta())
    page = site.http.get(path_of(ann, "delete"), status=200)
    assert not page.html.find(id="email").get("value")


def test_a_forged_form_is_not_stored(site, ann):
    administrators.signed_in(site, "security")
    sign_in_was(site, timedelta(minutes=11))
    answer = site.http.post(path_of(ann, "confirm"), {"reason": "x"}, status=302)
    assert "unsaved=1" in answer.location
    assert "authsite-admin-form" not in site.http.cookies


def test_support_does_nothing_to_an_owner(site, ann):
    owner = administrators.make(site, "owner", "boss@example.com")
    administrators.signed_in(site, "support")
    page = site.http.get(path_of(owner), status=200)
    assert "Ask an owner of this site" in page.text
    site.http.get(path_of(owner, "sign-out"), status=403)


def test_only_the_chosen_groups_stay(site, ann):
    administrators.signed_in(site, "owner")
    act(site, ann, "groups", **{"group:authsite:viewer": "1"})
    assert stored(site, ann).labels == "authsite:viewer"
    act(site, ann, "groups")
    assert not stored(site, ann).labels


def test_a_form_that_was_opened_before_does_not_give_a_lost_group_back(site):
    administrators.signed_in(site, "owner")
    bo = administrators.make(site, "support", "bo@example.com")
    path = path_of(bo, "groups")
    page = site.http.get(path, status=200)
    opened = page.html.find("input", {"name": "shown"})["value"]
    assert opened == "=authsite:support"
    with site.db() as db:
        cause = Cause("command")
        reserved_groups.revoke(context(site, db), db.get(User, bo.id), "support", cause)
    boxes = {"group:authsite:support": "1", "group:authsite:viewer": "1"}
    site.http.post(path, {"csrf_token": csrf_of(page), "shown": opened, **boxes}, status=303)
    assert stored(site, bo).labels == "authsite:viewer"


def test_nobody_changes_their_own_groups(site):
    root = administrators.signed_in(site, "owner")
    assert "Change the groups" not in site.http.get(path_of(root)).text
    act(site, root, "groups", status=403, **{"group:authsite:viewer": "1"})
    assert stored(site, root).labels == "authsite:owner"


def test_only_what_was_changed_of_the_profile_needs_a_reason(site_with):
    site = site_with(**administrators.SETTINGS, login_identifiers="email username")
    ann = site.user(ANN, confirmed=True)
    administrators.signed_in(site, "security")
    act(site, ann, "profile", name="Ann <b>Lee</b>", username="", phone="")
    page = site.http.get(path_of(ann))
    assert "Ann &lt;b&gt;Lee&lt;/b&gt;" in page.text
    act(site, ann, "profile", status=422, name="Ann", username="ann", phone="")
    act(site, ann, "profile", name="Ann", username="ann", phone="", reason="asked")
    assert (stored(site, ann).name, stored(site, ann).username) == ("Ann", "ann")


def test_to_delete_the_address_is_typed(site, ann):
    administrators.signed_in(site, "security")
    assert "Erase the account now" not in site.http.get(path_of(ann, "delete")).text
    act(site, ann, "delete", status=422, email="other@example.com", reason="asked")
    answer = act(site, ann, "delete", email=ANN, reason="asked")
    assert "The account will be erased on" in site.http.get(answer.location).text
    act(site, ann, "enable")
    assert stored(site, ann).delete_at is None


def test_an_owner_erases_at_once(site, ann):
    administrators.signed_in(site, "owner")
    answer = act(site, ann, "delete", email=ANN, reason="asked", now="true")
    assert "The account is erased." in site.http.get(answer.location).text
    site.http.get(path_of(ann), status=404)


def test_the_data_is_a_file(site, ann):
    administrators.signed_in(site, "security")
    path = path_of(ann, "export")
    token = csrf_of(site.http.get(path))
    answer = site.http.post(path, {"csrf_token": token}, status=200)
    assert answer.headers["Content-Disposition"].startswith("attachment;")
    assert ANN in answer.text


def test_a_reset_link_goes_to_the_user_alone(site, ann):
    administrators.signed_in(site, "support")
    site.mails()
    page = site.http.get(act(site, ann, "reset-password").location)
    [mail] = site.mails()
    assert mail["To"].endswith(ANN)
    link = next(word for word in text_of(mail).split() if "/reset" in word)
    assert link not in page.text


@pytest.mark.parametrize(
    "action", ["sign-out", "forget-browsers", "send-verification", "tokens", "enable"]
)
def test_other_actions_work_without_a_reason(site, ann, action):
    administrators.signed_in(site, "security")
    site.http.get(act(site, ann, action).location, status=200)


@pytest.mark.parametrize("action", ["confirm", "reset-factors", "lift-limits"])
def test_other_actions_need_a_reason(site, ann, action):
    administrators.signed_in(site, "security")
    act(site, ann, action, status=422)
    site.http.get(act(site, ann, action, reason="asked").location, status=200)


def test_an_unknown_user_is_not_found(site):
    administrators.signed_in(site, "security")
    site.http.get("/admin/users/4c6b3e5e-6f4a-4a43-9f3a-0d0f5f5f5f5f", status=404)
    site.http.get("/admin/users/x/disable", status=404)
