"""The confirming pages of one sign-in, token or second factor of a user."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from authsite.platform.rate_limit.storage import LimitCounter
from authsite.platform.runtime import clock
from authsite.sign_in.methods.totp.models import TotpFactor
from tests.support import administrators, factors
from tests.support.pages import csrf_of
from tests.support.site import PASSWORD, bearer

from .acting import ANN, act, last_event, path_of, sign_in_was


def test_one_factor_is_removed_and_the_others_stay(site, ann):
    factors.add_totp(site, ann)
    factors.add_passkey(site, ann, name="Old laptop")
    administrators.signed_in(site, "support")
    site.mails()
    section = site.http.get(path_of(ann)).html.find("section", {"aria-labelledby": "factors"})
    [app, key] = [each["href"] for each in section.select("td a.button")]
    page = site.http.get(key, status=200)
    assert "Old laptop" in page.html.main.text
    given = {"csrf_token": csrf_of(page)}
    site.http.post(key, {**given, "reason": ""}, status=422)
    sign_in_was(site, timedelta(minutes=11))
    assert "max_age=600" in site.http.get(key, status=302).location
    sign_in_was(site, timedelta())
    answer = site.http.post(key, {**given, "reason": "lost the laptop"}, status=303)
    assert "The second factor is removed." in site.http.get(answer.location).text
    assert factors.left(site, ann) == {"totp": 1, "passkeys": 0, "codes": 8}
    details = last_event(site, "factor.removed").details
    assert (details["kind"], details["reason"]) == ("passkey", "lost the laptop")
    assert [mail["To"] for mail in site.mails()] == [ANN]
    site.http.get(key, status=404)
    act(site, ann, app.rpartition(f"{ann.id}/")[2], reason="lost the phone, too")
    assert factors.left(site, ann) == {"totp": 0, "passkeys": 0, "codes": 0}


def test_a_factor_of_an_administrator_is_removed_by_the_command_alone(site):
    bo = administrators.make(site, "viewer", "bo@example.com")
    factors.add_totp(site, bo)
    administrators.signed_in(site, "owner")
    page = site.http.get(path_of(bo))
    assert not page.html.select("#factors ~ table td a.button")
    with site.db() as db:
        id_ = db.scalar(select(TotpFactor.id).where(TotpFactor.user_id == bo.id))
    act(site, bo, f"factors/{id_}", status=403, reason="lost")
    assert factors.left(site, bo)["totp"] == 1


def test_the_pages_of_one_sign_in_and_one_token_say_which(site, ann):
    keys = site.client()
    token = site.login(keys, ANN, PASSWORD)["access_token"]
    body = {"name": "Nightly backup", "current_password": PASSWORD}
    site.http.post_json("/v1/user/tokens", body, headers=bearer(token))
    administrators.signed_in(site, "support")
    page = site.http.get(path_of(ann))
    for part, text in ("sessions", "Unknown device"), ("tokens", "Nightly backup"):
        link = page.html.select(f"#{part} ~ table td a.button")[0]["href"]
        assert text in site.http.get(link, status=200).html.main.text
        gone = f"{link.rpartition('/')[0]}/4c6b3e5e-6f4a-4a43-9f3a-0d0f5f5f5f5f"
        site.http.get(gone, status=404)


def test_a_lockout_is_shown_until_it_ends(site_with):
    site = site_with(**administrators.SETTINGS, limits="on")
    ann, keys = site.user(ANN, confirmed=True), site.client()
    administrators.signed_in(site, "support")
    site.try_login(keys, username=ANN, password="wrong horse battery")
    page = site.http.get(path_of(ann))
    assert "Too many attempts" not in page.text
    assert len(page.html.select("#limits ~ table tbody tr")) == 1
    for _ in range(5):
        site.try_login(keys, username=ANN, password="wrong horse battery")
    page = site.http.get(path_of(ann))
    assert page.html.find("span", {"class": "bad"}).text == "Too many attempts"
    assert len(page.html.select("#limits ~ table tbody tr")) == 2  # and the notice about it
    assert any(each.text == "Locked until" for each in page.html.select("dt"))
    with site.db() as db:
        db.execute(update(LimitCounter).values(expires_at=clock.now()))
    page = site.http.get(path_of(ann))
    assert "Too many attempts" not in page.text
    assert not page.html.select("#limits ~ table")


def test_a_page_promises_a_disabled_user_only_a_mail_that_is_sent(site, ann):
    administrators.signed_in(site, "security")
    act(site, ann, "disable", reason="asked")
    site.mails()
    none = "No e-mail is sent: the account is disabled."
    for action, mails in ("sign-out", 0), ("enable", 1):
        assert (none in site.http.get(path_of(ann, action)).text) is not bool(mails)
        act(site, ann, action)
        assert len(site.mails()) == mails


@pytest.mark.parametrize(
    ("action", "fields"),
    [
        ("confirm", {}),
        ("profile", {"name": "", "username": "ann", "phone": ""}),
        ("change-email", {"email": "new@example.com", "confirmed": "on"}),
    ],
)
@pytest.mark.parametrize("disabled", [True, False])
def test_a_page_promises_a_mail_about_a_change_as_far_as_it_is_sent(
    site_with, action, fields, disabled
):
    site = site_with(**administrators.SETTINGS, login_identifiers="email username")
    ann = site.user("ann@example.com", confirmed=action != "confirm")
    administrators.signed_in(site, "security")
    if disabled:
        act(site, ann, "disable", reason="asked")
    site.mails()
    page = site.http.get(path_of(ann, action))
    assert ("No e-mail is sent: the account is disabled." in page.text) is disabled
    assert ("gets an e-mail" in page.text) is (not disabled and action == "profile")
    assert ("so no link can be sent" in page.text) is (disabled and action == "change-email")
    act(site, ann, action, reason="asked", **fields)
    assert bool(site.mails()) is not disabled
