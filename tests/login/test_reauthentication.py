"""The current password, asked for once more: limited, on record, and one rule for every path."""

import pytest

from authsite.platform.audit.models import AuditEvent
from tests.support.pages import sign_in
from tests.support.site import PASSWORD, bearer

NEW = "purple wolf 77 tea"
LIMITS = {"limits": "on", "limits_login_address": "900/minute"}
WRONG = "not my password at all"


@pytest.fixture
def site(site_with, frozen):
    """Ann's site; the clock stands still."""
    made = site_with(**LIMITS)
    made.ann = made.user()
    made.keys = made.client()
    return made


def change_password(site, token, current=WRONG):
    body = {"current_password": current, "password": NEW}
    return site.http.put_json("/v1/user/password", body, headers=bearer(token), status="*")


def change_email(site, token, current=WRONG):
    body = {"current_password": current, "email": "new@example.com"}
    return site.http.put_json("/v1/user/email", body, headers=bearer(token), status="*")


def delete(site, token, current=WRONG):
    body = {"current_password": current}
    return site.http.delete_json("/v1/user", body, headers=bearer(token), status="*")


def create_token(site, token, current=WRONG):
    body = {"current_password": current, "name": "script"}
    return site.http.post_json("/v1/user/tokens", body, headers=bearer(token), status="*")


PATHS = (change_password, change_email, delete, create_token)


PAGES = {"password": "/account/security", "tokens": "/account/access"}


def send(site, form_id, **fields):
    forms = site.http.get(PAGES.get(form_id, "/account")).forms.values()
    [form] = [each for each in forms if each.action.endswith(f"/account/{form_id}")]
    for name, value in fields.items():
        form[name] = value
    return form.submit(status="*").status_int


@pytest.mark.parametrize("path", PATHS)
def test_h4_forty_wrong_current_passwords_cost_at_most_ten_hashes(site, hashes, path):
    """H4, house 0.1-1: the current password cannot be guessed with a stolen token."""
    token = site.login(site.keys)["access_token"]
    hashes.clear()
    responses = [path(site, token) for _ in range(40)]
    assert [answer.status_int for answer in responses] == [422] * 5 + [429] * 35
    assert len(hashes) <= 10
    assert responses[0].json["errors"][0]["code"] == "invalid_password"
    assert responses[0].json["errors"][0]["field"] == "current_password"
    assert responses[-1].json["errors"][0]["code"] == "too_many_attempts"
    assert responses[-1].headers["Retry-After"] == "300"
    assert path(site, token, PASSWORD).status_int == 429  # right or wrong: nothing is looked at


def test_h4_every_path_draws_on_the_same_count(site, hashes):
    """H4: five attempts are five, whichever endpoint they go to."""
    token = site.login(site.keys)["access_token"]
    seen = [PATHS[number % 4](site, token).status_int for number in range(12)]
    assert seen == [422] * 5 + [429] * 7


def test_h4_the_forms_of_the_account_page_are_limited_too(site, hashes):
    """H4: the account page asks the same function."""
    sign_in(site)
    hashes.clear()
    forms = [
        lambda: send(site, "password", current_password=WRONG, password=NEW),
        lambda: send(site, "email", current_password=WRONG, email="new@example.com"),
        lambda: send(site, "delete", current_password=WRONG),
        lambda: send(site, "tokens", current_password=WRONG, name="script"),
    ]
    seen = [forms[number % 4]() for number in range(40)]
    assert seen == [422] * 5 + [429] * 35
    assert len(hashes) <= 10


def test_h4_each_wrong_current_password_is_on_record(site):
    """H4, M9: one row for each wrong password, with the sign-in that it came from."""
    token = site.login(site.keys)["access_token"]
    [family] = site.families()
    for _ in range(7):
        change_password(site, token)
    with site.db() as db:
        rows = db.query(AuditEvent).order_by(AuditEvent.id).all()
    rows = [row for row in rows if row.event.startswith("reauthentication.")]
    assert [row.event for row in rows] == ["reauthentication.failed"] * 5 + [
        "reauthentication.locked"
    ]
    assert {row.user_id for row in rows} == {site.ann.id}
    assert {row.details["session"] for row in rows} == {str(family.id)}


def test_wrong_current_passwords_lock_neither_logins_nor_other_sign_ins(site):
    """One counter has one use, so a stolen token cannot spend the owner's attempts."""
    stolen = site.login(site.keys)["access_token"]
    own = site.login(site.keys)["access_token"]
    assert [change_password(site, stolen).status_int for _ in range(6)] == [422] * 5 + [429]
    elsewhere = {"address": "203.0.113.9"}
    assert site.try_login(site.keys, PASSWORD, **elsewhere).status_int == 200
    assert change_password(site, own, PASSWORD).status_int == 200


def test_failed_logins_do_not_lock_the_current_password(site):
    """Strangers who lock logins do not lock what the signed-in user may do."""
    token = site.login(site.keys)["access_token"]
    seen = [site.try_login(site.keys, address=f"198.51.100.{n}").status_int for n in range(6)]
    assert seen == [400] * 5 + [429]
    assert change_password(site, token, PASSWORD).status_int == 200


def test_the_delay_grows_and_a_right_password_gives_its_attempt_back(site, frozen):
    token = site.login(site.keys)["access_token"]
    for _ in range(8):
        assert change_email(site, token, PASSWORD).status_int == 202
        frozen.advance(3600)
    waits = []
    for _ in range(5):
        change_password(site, token)
    for _ in range(3):
        waits.append(int(change_password(site, token).headers["Retry-After"]))
        frozen.advance(waits[-1])
        assert change_password(site, token).status_int == 422
    assert waits == [300, 600, 900]
