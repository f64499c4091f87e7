"""The OpenAPI document describes the API for administrators as completely as the rest."""

import pytest
from sqlalchemy import select

from authsite.oauth.models import Client
from authsite.platform.audit.models import AuditEvent
from authsite.platform.mail.outbox import OutboxMessage
from authsite.users.account import PASSWORD as PROVED_PASSWORD
from tests.openapi import test_document as checks
from tests.support import administrators
from tests.support.described import Described
from tests.support.site import bearer

SCOPES = " ".join(sorted(administrators.ADMIN_SCOPES))
ADMIN, UNKNOWN = "/v1/admin/", "5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"
JSON = "application/json"
# Bodies that no operation accepts, and some that are empty.
BODIES = [
    (JSON, b"["),
    (JSON, b"{}"),
    (JSON, b'{"email": 1, "reason": 1, "unknown": ""}'),
    (JSON, b" " * 70_000),
    ("text/xml", b"<a/>"),
]


class AnyId(dict):
    """Parameters of a path that belong to nothing, but for those that are given."""

    def __missing__(self, name):
        return "none" if name in ("name", "group") else UNKNOWN


@pytest.fixture
def owner(site):
    """The header with a token of an owner that has every scope."""
    user = administrators.make(site, "owner")
    return user, administrators.token(site, SCOPES)


@pytest.fixture
def described(site):
    return Described(site)


@pytest.mark.parametrize(
    "check",
    [
        checks.test_every_endpoint_is_in_the_document_and_nothing_else,
        checks.test_the_document_is_valid_openapi_3_1,
        checks.test_every_operation_says_what_it_does_takes_and_answers,
        checks.test_every_error_says_when_it_occurs,
        checks.test_every_field_that_is_read_or_answered_is_explained,
        checks.test_every_example_fits_its_schema,
    ],
)
def test_the_document_passes_the_check_of_a_site(check, site):
    check(site)


@pytest.mark.parametrize(
    "check",
    [
        checks.test_every_tag_is_explained,
        checks.test_m18_the_tags_are_in_the_order_of_a_new_reader_and_none_is_forgotten,
        checks.test_m18_no_example_is_a_word_that_stands_for_nothing,
        checks.test_a_guarded_endpoint_announces_the_guards_refusal_and_its_challenge,
    ],
)
def test_the_document_passes_the_check_of_a_document(check, described):
    check(described)


def operations_of(described, *methods):
    """``(method, path, operation)`` of the operations for administrators."""
    found = [
        (method, path, operation)
        for method, path, operation in described.operations()
        if path.startswith(ADMIN) and (not methods or method in methods)
    ]
    assert len(found) > 10
    return found


def call(site, method, path, headers, **sent):
    """The response to a request with parameters that belong to nothing."""
    target = path.format_map(AnyId())
    return site.http.request(target, method=method, headers=headers, status="*", **sent)


def test_every_operation_announces_what_the_guard_answers(described):
    for method, path, operation in operations_of(described):
        responses, where = operation["responses"], f"{method} {path}"
        for status, code in (
            ("401", "insufficient_user_authentication"),
            ("403", "insufficient_scope"),
            ("429", "too_many_attempts"),
        ):
            assert code in responses[status]["content"][JSON]["examples"], where
        assert operation["tags"] == ["Administration"], where


def test_outside_of_the_networks_everything_is_described_as_absent(site_with):
    site = site_with(**administrators.SETTINGS, admin_networks="198.51.100.0/24")
    described = Described(site)
    headers = administrators.client(site, "admin:users:read")
    for method, path, _ in operations_of(described):
        answer = described.fits(call(site, method, path, headers), method, path)
        assert answer.status_int == 404, f"{method} {path}"


def test_what_the_guard_answers_fits_the_document(site, described, owner):
    _, headers = owner
    plain = administrators.client(site, "")
    for method, path, _ in operations_of(described):
        statuses = [
            described.fits(call(site, method, path, sent), method, path).status_int
            for sent in ({}, bearer("at_x"), plain)
        ]
        assert statuses == [401, 401, 403], f"{method} {path}"
    token = headers["Authorization"].removeprefix("Bearer ")
    administrators.with_scope(site, token, SCOPES, PROVED_PASSWORD)
    for method, path, _ in operations_of(described):
        answer = described.fits(call(site, method, path, headers), method, path)
        assert answer.json["errors"][0]["code"] == "insufficient_user_authentication"


def test_every_list_and_object_is_as_the_document_states(site, described, owner):
    _, headers = owner
    user, http = site.user("ann@example.com"), site.http
    group = {"name": "ops", "title": "Operations"}
    http.post_json("/v1/admin/groups", group, headers=headers)
    http.put_json(f"/v1/admin/groups/ops/members/{user.id}", {}, headers=headers)
    invited = {"email": "bo@example.com", "group": "ops"}
    invitation = http.post_json("/v1/admin/invitations", invited, headers=headers).json["id"]
    with site.db() as db:
        known = {
            "users": str(user.id),
            "groups": "ops",
            "invitations": invitation,
            "clients": str(db.scalars(select(Client.id).limit(1)).one()),
            "mails": str(db.scalars(select(OutboxMessage.id).limit(1)).one()),
            "events": db.scalars(
                select(AuditEvent.request_id).where(AuditEvent.request_id.is_not(None)).limit(1)
            ).one(),
        }
    for method, path, _ in operations_of(described, "GET"):
        kind = path.removeprefix(ADMIN).partition("/")[0]
        first = path.partition("{")[2].partition("}")[0]
        names = {"id": str(user.id), first: known.get(kind)}
        answer = http.get(path.format_map(names), headers=headers, status="*")
        assert described.fits(answer, method, path).status_int == 200, path


def test_wrong_queries_are_as_the_document_states(site, described, owner):
    _, headers = owner
    for method, path, operation in operations_of(described, "GET"):
        if "cursor" not in [each["name"] for each in operation.get("parameters", ())]:
            continue
        for query, status in (("limit=x", 422), ("limit=1&limit=2", 400), ("cursor=x", 400)):
            answer = call(site, method, f"{path}?{query}", headers)
            assert described.fits(answer, method, path).status_int in (status, 404), path


def test_wrong_bodies_and_unknown_objects_are_as_the_document_states(site, described, owner):
    _, headers = owner
    seen = set()
    for method, path, operation in operations_of(described):
        sent = [{"content_type": kind, "body": body} for kind, body in BODIES]
        for each in sent if "requestBody" in operation else [{}]:
            answer = call(site, method, path, headers, **each)
            seen.add(described.fits(answer, method, path).status_int)
    assert seen >= {200, 400, 404, 413, 415, 422}
