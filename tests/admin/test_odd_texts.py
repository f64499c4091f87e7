"""Ids, filters and fields that are not text of a database: refused, and no error 500."""

import pytest

from tests.admin.test_matrix import ROLES
from tests.support import administrators
from tests.support.pages import csrf_of

pytestmark = pytest.mark.both_databases(each_value=True)

API = (
    "users/a%00",
    "users?q=%00",
    "users?created_after=0001-01-01T00:00:00%2B23:59",
    "users?created_after=9999-12-31T23:59:59-23:59",
    "users?group=a%00",
    "groups/a%00",
    "groups/a%00/members",
    "groups/a%00/members/a%00",
    "clients/a%00",
    "clients?name=a%00",
    "invitations/a%00",
    "events/explain/a%00",
    "events/explain/a?at=0001-01-01",
    "events/explain/a?at=9999-12-31T23:59:59",
    "events?address=a%00",
)
PAGES = (
    "users?q=a%00",
    "users?q=name:a%00",
    "users?group=a%00",
    "users/a%00",
    "groups/a%00",
    "clients/a%00",
    "clients?name=a%00",
    "audit?address=a%00",
    "audit?user=a%00",
    "audit/explain/a%00",
    "audit/explain/a?at=0001-01-01",
    "mail?state=a%00",
)


def test_the_api_refuses_what_is_no_text(site):
    administrators.make(site, "owner")
    headers = administrators.token(site, " ".join(ROLES["owner"]))
    for path in API:
        answer = site.http.get(f"/v1/admin/{path}", headers=headers, status="*")
        assert answer.status_int in (400, 404, 422), (path, answer)


def test_the_console_refuses_what_is_no_text(site):
    administrators.signed_in(site, "owner")
    for path in PAGES:
        answer = site.http.get(f"/admin/{path}", status="*")
        assert answer.status_int < 500, (path, answer)


def test_a_group_that_is_no_text_is_unknown(site):
    administrators.signed_in(site, "owner")
    ann = site.user("ann@example.com", confirmed=True)
    path = f"/admin/users/{ann.id}/groups"
    csrf = csrf_of(site.http.get(path))
    answer = site.http.post(path, {"csrf_token": csrf, "group:a\0": "1"}, status="*")
    assert answer.status_int in (404, 422), answer


def test_fields_that_are_no_text_are_refused(site):
    administrators.make(site, "owner")
    ann = site.user("ann@example.com", confirmed=True)
    headers = administrators.token(site, " ".join(ROLES["owner"]))
    for path, body in (
        ("invitations", {"email": "x@example.com", "group": "a\0"}),
        ("groups", {"name": "a\0", "title": "x"}),
        ("groups", {"name": "aa", "title": "x", "scopes": ["a\0"]}),
        ("clients", {"name": "x", "type": "personal", "scope": "a\0"}),
        ("clients", {"name": "x", "type": "server", "redirect_uris": ["https://a/\0"]}),
        ("clients", {"name": "x", "type": "password", "require_group": "a\0"}),
        (f"users/{ann.id}/disable", {"reason": "a\0"}),
        (f"users/{ann.id}/disable", {"reason": "a\ud800"}),
    ):
        answer = site.http.post_json(f"/v1/admin/{path}", body, headers=headers, status="*")
        assert answer.status_int == 422, (path, body, answer)


def test_a_long_form_is_not_kept_during_a_step_up(site, frozen):
    administrators.signed_in(site, "owner")
    ann = site.user("ann@example.com", confirmed=True)
    path = f"/admin/users/{ann.id}/confirm"
    csrf = csrf_of(site.http.get(path))
    frozen.advance(660)
    site.http.post(path, {"csrf_token": csrf, "reason": "\x01" * 20000}, status="*")
    frozen.advance(-660)
    site.http.get(path, status=200)


def test_a_field_whose_name_is_no_text_is_an_error_of_the_body(site):
    administrators.make(site, "owner")
    headers = administrators.token(site, "admin:groups:write")
    headers = {**headers, "Content-Type": "application/json"}
    body = r'{"\ud800": 1, "scopes": ["other"]}'
    answer = site.http.post("/v1/admin/groups", body, headers=headers, status=422)
    found = {(each["code"], each["field"]) for each in answer.json["errors"]}
    missing = {("required", "name"), ("required", "title")}
    assert found == {("invalid", None), ("invalid", "scopes"), *missing}


def test_what_is_no_text_is_not_found_to_be_deleted(site):
    administrators.make(site, "owner")
    headers = administrators.token(site, " ".join(ROLES["owner"]))
    for path in ("groups/a%00", "clients/a%00", "invitations/a%00", "groups/a%00/members/a%00"):
        answer = site.http.delete_json(f"/v1/admin/{path}", {}, headers=headers, status="*")
        assert answer.status_int < 500, (path, answer)
