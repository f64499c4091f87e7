"""One administrator, or who has a token of one, does not fill the mailbox of a user."""

import pytest
from sqlalchemy import func, select

from authsite.platform.mail.outbox import OutboxMessage
from tests.admin.acting import path_of
from tests.admin.test_matrix import ROLES
from tests.support import administrators
from tests.support.pages import csrf_of

LIMITS = {"limits": "on", "limits.admin_mail": "4/hour"}
MEMBER = "groups/authsite:viewer/members/{id}"
TWO = {
    "sign-ins": [("POST", "users/{id}/sign-out"), ("DELETE", "users/{id}/sessions")],
    "disabled": [("POST", "users/{id}/disable"), ("POST", "users/{id}/enable")],
    "deleted": [("DELETE", "users/{id}"), ("POST", "users/{id}/enable")],
    "groups": [("PUT", MEMBER), ("DELETE", MEMBER)],
}


@pytest.fixture
def site(site_with):
    return site_with(**administrators.SETTINGS, **LIMITS)


@pytest.mark.parametrize("steps", TWO.values(), ids=TWO)
def test_what_can_be_repeated_is_limited_for_each_user(site, ann, steps):
    administrators.make(site, "owner")
    headers = administrators.token(site, " ".join(ROLES["owner"]))
    statuses = [_call(site, ann, *step, headers) for _ in range(3) for step in steps]
    assert statuses[4:] == [429, 429]
    assert all(status < 300 for status in statuses[:4])
    assert _mails(site, ann) == 4
    bob = site.user("bob@example.com", confirmed=True)
    assert _call(site, bob, *steps[0], headers) < 300


def test_a_link_to_the_user_is_counted_apart(site, ann):
    administrators.make(site, "support")
    headers = administrators.token(site, " ".join(ROLES["support"]))
    for _ in range(4):
        assert _call(site, ann, "POST", "users/{id}/sign-out", headers) == 200
    assert _call(site, ann, "POST", "users/{id}/reset-password", headers) == 202
    assert _call(site, ann, "POST", "users/{id}/sign-out", headers) == 429


def test_the_page_says_it_and_does_nothing(site, ann):
    administrators.signed_in(site, "security")
    path = path_of(ann, "sign-out")
    token = csrf_of(site.http.get(path, status=200))
    for _ in range(4):
        site.http.post(path, {"csrf_token": token}, status=303)
    site.http.post(path, {"csrf_token": token}, status=429)
    assert _mails(site, ann) == 4


def _call(site, user, method, path, headers):
    needed = {"reason": "r"} | ({"email": user.email} if path == "users/{id}" else {})
    call = {"POST": site.http.post_json, "PUT": site.http.put_json}.get(
        method, site.http.delete_json
    )
    path = f"/v1/admin/{path.format(id=user.id)}"
    return call(path, needed, headers=headers, status="*").status_int


def _mails(site, user):
    with site.db() as db:
        query = select(func.count()).where(OutboxMessage.user_id == user.id)
        return db.scalar(query)
