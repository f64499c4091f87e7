"""The requests of introspection and revocation: who may send them, and in which form."""

import uuid

import pytest

from tests.support.site import ClientKeys, bearer


@pytest.fixture
def keys(site):
    site.user()
    return site.client(scope="notes:read notes:write", default_scope="notes:read")


@pytest.fixture
def resource(site):
    return site.client("resource-server")


@pytest.fixture
def tokens(site, keys):
    return site.login(keys)


@pytest.mark.control("T24")
@pytest.mark.parametrize("path", ["introspect", "revoke"])
def test_without_client_authentication_there_is_no_answer(site, keys, tokens, path):
    wrong = ClientKeys(keys.client_id, "wrong")
    unknown = ClientKeys(str(uuid.uuid4()), keys.client_secret)
    ours = {"token": tokens["access_token"]}
    for form in (ours, wrong.form(**ours), unknown.form(**ours)):
        answer = site.http.post(f"/v1/oauth/{path}", form, status=401)
        assert answer.json["error"] == "invalid_client"
    headers = bearer(tokens["access_token"])
    site.http.post(f"/v1/oauth/{path}", ours, headers=headers, status=401)
    site.me(tokens["access_token"])


@pytest.mark.control("T07")
@pytest.mark.parametrize("path", ["introspect", "revoke"])
def test_a_client_may_authenticate_by_basic(site, keys, tokens, path):
    form, url = {"token": tokens["access_token"]}, f"/v1/oauth/{path}"
    site.http.authorization = ("Basic", (keys.client_id, "wrong"))
    answer = site.http.post(url, form, status=401)
    assert answer.headers["WWW-Authenticate"] == 'Basic realm="authsite"'
    site.http.authorization = ("Basic", (keys.client_id, keys.client_secret))
    assert site.http.post(url, keys.form(**form), status=400).json["error"] == "invalid_request"
    site.http.post(url, form, status=200)
    site.http.authorization = None


@pytest.mark.control("L05")
@pytest.mark.parametrize("path", ["introspect", "revoke"])
def test_wrong_secrets_are_counted_together_with_those_at_the_token_endpoint(site_with, path):
    site = site_with(limits="on", limits_client_auth="3/minute")
    keys = site.client("personal")
    wrong = ClientKeys(keys.client_id, "wrong")
    site.token(wrong, 401, grant_type="client_credentials")
    form, url = {"token": "at_x"}, f"/v1/oauth/{path}"
    statuses = [site.http.post(url, wrong.form(**form), status="*").status_int for _ in range(3)]
    assert statuses == [401, 401, 429]
    site.http.post(url, keys.form(**form), status=200)  # a right secret is never refused
    refused = site.http.post(url, wrong.form(**form), status=429)
    assert refused.json["error"] == "too_many_attempts"
    assert 1 <= int(refused.headers["Retry-After"]) <= 60


@pytest.mark.control("T05")
@pytest.mark.parametrize("path", ["introspect", "revoke"])
def test_the_body_is_a_form_and_nothing_else(site, keys, tokens, path):
    form, url = keys.form(token=tokens["access_token"]), f"/v1/oauth/{path}"
    assert site.http.post_json(url, form, status=415).json["error"] == "invalid_request"
    assert site.http.post(f"{url}?token=x", form, status=400).json["error"] == "invalid_request"
    assert site.http.get(url, status=405).json["error"] == "method_not_allowed"
    for bad in ({**form, "token": ""}, keys.form(), {**form, "token": "x" * 4097}):
        answer = site.http.post(url, bad, status=400).json
        assert answer["error"] == "invalid_request"
        assert "token" in answer["error_description"]
    site.me(tokens["access_token"])


@pytest.mark.control("T23")
@pytest.mark.parametrize("path", ["introspect", "revoke"])
def test_no_answer_is_stored_in_a_cache(site, keys, tokens, path):
    url = f"/v1/oauth/{path}"
    for form in (keys.form(token=tokens["access_token"]), keys.form(token="x"), keys.form(), {}):
        answer = site.http.post(url, form, status="*")
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Pragma"] == "no-cache"


@pytest.mark.control("T06")
@pytest.mark.parametrize("grant", ["password", "client_credentials", "refresh_token"])
def test_a_resource_server_gets_no_tokens(site, tokens, resource, grant):
    form = {"password": {"username": "ann@example.com", "password": "x"}}.get(grant, {})
    answer = site.token(
        resource, 400, grant_type=grant, refresh_token=tokens["refresh_token"], **form
    )
    assert answer.json["error"] == "unauthorized_client"
    assert len(site.families()) == 1
