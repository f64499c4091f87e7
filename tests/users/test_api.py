"""The user endpoint shows the token's user, whichever user the request otherwise names."""

from uuid import UUID

import pytest

from authsite.users.models import User
from tests.support.site import bearer

pytestmark = pytest.mark.both_databases

PATHS = ["/v1/user", "/v1/profile"]


@pytest.fixture
def keys(site):
    """A password client's keys, with Ann as a user."""
    site.user()
    return site.client()


@pytest.mark.parametrize("path", PATHS)
def test_the_user_of_the_token_is_shown_with_the_documented_fields_only(site, keys, path):
    token = site.login(keys)["access_token"]
    answer = site.http.get(path, headers=bearer(token))
    with site.db() as db:
        user = db.query(User).one()
    assert answer.json == {
        "id": str(user.id),
        "email": "ann@example.com",
        "username": None,
        "phone": None,
        "name": None,
        "confirmed": False,
        "email_verified_at": None,
        "created_at": user.created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "updated_at": user.updated_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    assert answer.content_type == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_login_name_that_is_not_enabled_any_more_is_null(sites, site_with):
    named = site_with(login_identifiers="email username phone")
    named.user(username="annie", phone="+4930901820")
    headers = bearer(named.login(named.client())["access_token"])
    for site, names in ((named, ["annie", "+4930901820"]), (sites(), [None, None])):
        shown = [
            site.http.get("/v1/user", headers=headers),
            site.http.patch_json("/v1/user", {"name": "Ann"}, headers=headers),
        ]
        assert [[each.json["username"], each.json["phone"]] for each in shown] == [names] * 2


def test_a_confirmed_user_is_shown_as_one(site):
    site.user(confirmed=True)
    shown = site.me(site.login(site.client())["access_token"]).json
    assert shown["confirmed"] is True
    assert shown["email_verified_at"].endswith("Z")


@pytest.mark.control("T16")
def test_a_clients_own_token_is_no_user_even_if_the_ids_are_the_same(site):
    user = site.user()
    keys = site.client("personal")
    with site.db() as db:
        from authsite.oauth.models import Client

        db.get(Client, UUID(keys.client_id)).id = user.id
    tokens = site.http.post(
        "/v1/oauth/token",
        {
            "grant_type": "client_credentials",
            "client_id": str(user.id),
            "client_secret": keys.client_secret,
        },
    ).json
    for path in PATHS:
        answer = site.http.get(path, headers=bearer(tokens["access_token"]), status=403)
        assert [item["code"] for item in answer.json["errors"]] == ["user_required"]


@pytest.mark.control("U09")
@pytest.mark.parametrize("path", PATHS)
def test_nothing_in_the_request_names_another_user(site, keys, path):
    other = site.user("bo@example.com")
    token = site.login(keys)["access_token"]
    query = f"?id={other.id}&user_id={other.id}&email=bo@example.com&username=bo@example.com"
    answer = site.http.request(
        path + query,
        headers=bearer(token) | {"X-User-Id": str(other.id), "X-Auth-User": str(other.id)},
        body=f"id={other.id}".encode(),
        content_type="application/x-www-form-urlencoded",
    )
    assert answer.json["email"] == "ann@example.com"


@pytest.mark.control("U09")
def test_each_token_shows_and_ends_its_own_users_login_only(site, keys):
    site.user("bo@example.com")
    ann, bo = site.login(keys), site.login(keys, "bo@example.com")
    assert site.me(ann["access_token"]).json["email"] == "ann@example.com"
    assert site.me(bo["access_token"]).json["email"] == "bo@example.com"
    site.logout(bo["access_token"])
    site.me(bo["access_token"], status=401)
    site.me(ann["access_token"])
    site.refresh(keys, ann["refresh_token"])


@pytest.mark.parametrize("path", PATHS)
def test_without_a_token_there_is_nothing_to_see(site, path):
    answer = site.http.get(path, status=401)
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="authsite"'
    assert answer.json == {
        "message": "An exception occurred when trying to authenticate the user.",
        "errors": [],
    }


def test_the_profile_accepts_get_and_head_only(site, keys):
    headers = bearer(site.login(keys)["access_token"])
    assert site.http.head("/v1/profile", headers=headers).body == b""
    for method in ("post", "put", "patch", "delete", "options"):
        answer = getattr(site.http, method)("/v1/profile", headers=headers, status=405)
        assert answer.headers["Allow"] == "GET, HEAD"
        assert set(answer.json) == {"message", "errors"}


def test_a_head_request_never_logs_out(site, keys):
    token = site.login(keys)["access_token"]
    answer = site.http.head("/v1/logout", headers=bearer(token), status=405)
    assert answer.headers["Allow"] == "DELETE"
    site.me(token)


def test_a_method_override_is_not_listened_to(site, keys):
    token = site.login(keys)["access_token"]
    for name in ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"):
        headers = bearer(token) | {name: "DELETE"}
        site.http.post("/v1/logout", {"_method": "DELETE"}, headers=headers, status=405)
        site.http.post("/v1/logout?_method=DELETE", headers=headers, status=405)
    site.me(token)
