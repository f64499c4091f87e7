"""Clients without a secret: the id alone authenticates them, and a secret is refused."""

from base64 import b64encode
from uuid import UUID

import pytest

from authsite.oauth.models import Client
from tests.support.codes import application
from tests.support.site import PASSWORD

GRANT = {"grant_type": "refresh_token", "refresh_token": "rt_unknown"}


@pytest.fixture(params=["browser", "native"])
def public(site, request):
    """The id of a client without a secret."""
    made = application(site, request.param, secret_hash="")
    return made.client_id


def basic(client_id, secret):
    return {"Authorization": f"Basic {b64encode(f'{client_id}:{secret}'.encode()).decode()}"}


def answer_to(site, form, path="token", **headers):
    return site.http.post(f"/v1/oauth/{path}", form, headers=headers, status="*")


def test_the_id_alone_is_enough(site, public):
    answer = answer_to(site, {**GRANT, "client_id": public})
    assert (answer.status_int, answer.json["error"]) == (400, "invalid_grant")
    empty = answer_to(site, {**GRANT, "client_id": public, "client_secret": ""})
    assert empty.json["error"] == "invalid_grant"  # RFC 6749, section 3.2: as if it were left out
    assert answer_to(site, {"token": "at_unknown", "client_id": public}, "revoke").json == {}


@pytest.mark.parametrize("secret", ["x", " ", "0" * 64])
def test_a_secret_is_refused(site, public, secret):
    form = {**GRANT, "client_id": public, "client_secret": secret}
    answer = answer_to(site, form)
    assert (answer.status_int, answer.json["error"]) == (401, "invalid_client")
    answer = answer_to(site, GRANT, **basic(public, secret))
    assert (answer.status_int, answer.json["error"]) == (401, "invalid_client")
    for path in ("revoke", "introspect"):
        form = {"token": "at_unknown", "client_id": public, "client_secret": secret}
        assert answer_to(site, form, path).json["error"] == "invalid_client"


def test_basic_without_a_secret_is_refused(site, public):
    assert answer_to(site, GRANT, **basic(public, "")).json["error"] == "invalid_client"


def test_introspection_wants_a_secret(site, public):
    form = {"token": "at_unknown", "client_id": public}
    assert answer_to(site, form, "introspect").json["error"] == "invalid_client"


def test_a_disabled_one_is_refused(site, public):
    with site.db() as db:
        client = db.get(Client, UUID(public))
        client.disabled_at = client.created_at
    assert answer_to(site, {**GRANT, "client_id": public}).json["error"] == "invalid_client"


@pytest.mark.parametrize("client_type", ["server", "password", "personal", "resource-server"])
def test_every_other_client_needs_its_secret(site, client_type):
    keys = site.client(client_type)
    for form in ({}, {"client_secret": ""}, {"client_secret": "wrong"}):
        answer = answer_to(site, {**GRANT, "client_id": keys.client_id, **form})
        assert (answer.status_int, answer.json["error"]) == (401, "invalid_client")


def test_a_client_without_a_hash_of_another_type_is_not_public(site):
    keys = application(site, "server", secret_hash="")
    form = {**GRANT, "client_id": keys.client_id}
    assert answer_to(site, form).json["error"] == "invalid_client"


def test_it_has_no_other_grants(site, public):
    site.user()
    for form in (
        {"grant_type": "client_credentials"},
        {"grant_type": "password", "username": "ann@example.com", "password": PASSWORD},
    ):
        answer = answer_to(site, {**form, "client_id": public})
        assert answer.json["error"] == "unauthorized_client"


@pytest.mark.parametrize(
    ("client_type", "form"),
    [
        ("password", {"grant_type": "password", "username": "ann@example.com",
                      "password": PASSWORD}),
        ("personal", {"grant_type": "client_credentials"}),
    ],
)  # fmt: skip
def test_no_token_without_a_code_has_a_scope_of_openid(site, client_type, form):
    """Not even of a client that has such a scope."""
    site.user()
    keys = site.client(client_type, scope="a", default_scope="a")
    with site.db() as db:
        client = db.get(Client, UUID(keys.client_id))
        client.scope = client.default_scope = "a openid profile"
    assert site.token(keys, **form).json["scope"] == "a"
    refused = site.token(keys, 400, **form, scope="openid").json
    assert refused["error"] == "invalid_scope"
