"""The signed-in user's own account, by API."""

from uuid import uuid4

import pytest

from authsite.platform.mail.outbox import OutboxMessage
from tests.support.pages import sign_in
from tests.support.site import PASSWORD, bearer

pytestmark = pytest.mark.both_databases

NEW = "purple wolf 77 tea"


@pytest.fixture
def ann(site):
    """A user with a client's keys and a token."""
    keys = site.client()
    user = site.user()
    return site, keys, user, site.login(keys)


def test_the_name_can_be_changed_and_taken_away(ann):
    site, _, _, tokens = ann
    headers = bearer(tokens["access_token"])
    assert site.http.patch_json("/v1/user", {"name": "Ann Lee"}, headers=headers).json["name"] == (
        "Ann Lee"
    )
    assert site.http.patch_json("/v1/user", {}, headers=headers).json["name"] == "Ann Lee"
    assert site.http.patch_json("/v1/user", {"name": ""}, headers=headers).json["name"] is None


@pytest.mark.control("U08")
def test_the_scopes_of_the_token_are_in_a_header_and_not_in_the_user_object(site):
    keys = site.client(scope="a b", default_scope="b")
    site.user()
    for scope, header in (("a b", "a b"), ("", "b")):
        answer = site.me(site.login(keys, scope=scope)["access_token"])
        assert answer.headers["X-Auth-Scope"] == header
        assert "scope" not in answer.json
    assert site.me(site.login(site.client())["access_token"]).headers["X-Auth-Scope"] == ""


def test_nothing_else_can_be_written_through_the_profile(ann):
    site, _, _, tokens = ann
    extra = {
        "id": str(uuid4()), "email": "m@example.com", "confirmed": True, "is_admin": True,
        "email_verified_at": "2020-01-01T00:00:00Z", "epoch": 9, "username": "mallory",
    }  # fmt: skip
    before = site.me(tokens["access_token"]).json
    after = site.http.patch_json("/v1/user", extra, headers=bearer(tokens["access_token"])).json
    assert {**after, "updated_at": None} == {**before, "updated_at": None}


def test_an_enabled_username_can_be_taken_changed_and_given_up(site_with):
    site = site_with(login_identifiers="email username")
    keys = site.client()
    site.user()
    site.user("bo@example.com", username="bobby")
    headers = bearer(site.login(keys)["access_token"])
    site.http.patch_json("/v1/user", {"username": "annlee"}, headers=headers)
    site.login(keys, username="AnnLee")
    answer = site.http.patch_json("/v1/user", {"username": "Bobby"}, headers=headers, status=422)
    assert answer.json["errors"][0]["code"] == "taken"
    site.http.patch_json("/v1/user", {"username": ""}, headers=headers)
    site.login(keys, username="annlee", status=400)


@pytest.mark.control("P10")
@pytest.mark.control("T19")
def test_changing_the_password_ends_everything_else_and_notifies_the_user(ann):
    site, keys, _, tokens = ann
    other = site.login(keys)
    sign_in(site)
    body = {"current_password": PASSWORD, "password": NEW}
    headers = bearer(tokens["access_token"])
    site.http.put_json("/v1/user/password", body, headers=headers, status=200)
    site.me(tokens["access_token"])
    site.refresh(keys, tokens["refresh_token"])
    site.me(other["access_token"], status=401)
    site.refresh(keys, other["refresh_token"], status=400)
    site.http.get("/account", status=302)
    site.login(keys, status=400)
    site.login(keys, password=NEW)
    [mail] = site.mails()
    assert mail["To"] == "ann@example.com"


@pytest.mark.control("P10")
@pytest.mark.parametrize("current", ["wrong wrong wrong", PASSWORD.upper(), PASSWORD + " "])
def test_a_wrong_current_password_changes_nothing(ann, current):
    site, keys, _, tokens = ann
    headers = bearer(tokens["access_token"])
    body = {"current_password": current, "password": NEW}
    answer = site.http.put_json("/v1/user/password", body, headers=headers, status=422)
    assert [(e["code"], e["field"]) for e in answer.json["errors"]] == [
        ("invalid_password", "current_password")
    ]
    site.login(keys)


def test_a_weak_new_password_is_refused(ann):
    site, keys, _, tokens = ann
    body = {"current_password": PASSWORD, "password": "password123"}
    headers = bearer(tokens["access_token"])
    answer = site.http.put_json("/v1/user/password", body, headers=headers, status=422)
    assert answer.json["errors"][0]["code"] == "weak_password"
    site.login(keys)


@pytest.mark.control("X03")
def test_a_user_sees_all_active_sessions_and_can_end_one(ann):
    site, keys, _, tokens = ann
    other = site.login(keys)
    sign_in(site)
    headers = bearer(tokens["access_token"])
    sessions = site.http.get("/v1/user/sessions", headers=headers).json["sessions"]
    assert [session["current"] for session in sessions] == [True, False, False]
    assert sorted(session["kind"] for session in sessions) == ["app", "app", "browser"]
    assert {session["client"] for session in sessions} == {"test", None}
    assert set(sessions[0]) == {
        "id", "kind", "client", "address", "agent", "created", "last_used", "current",
        "tokens", "acr", "amr", "auth_time",
    }  # fmt: skip
    for session in sessions[1:]:
        answer = site.http.delete(f"/v1/user/sessions/{session['id']}", headers=headers, status=204)
        assert "Content-Type" not in answer.headers  # trial 23
    site.me(other["access_token"], status=401)
    site.http.get("/account", status=302)
    assert len(site.http.get("/v1/user/sessions", headers=headers).json["sessions"]) == 1


@pytest.mark.control("U09")
@pytest.mark.control("U10")
def test_a_session_of_another_user_or_an_unknown_one_is_not_found(ann):
    site, keys, _, tokens = ann
    site.user("bo@example.com")
    theirs = site.login(keys, username="bo@example.com")
    listed = site.http.get("/v1/user/sessions", headers=bearer(theirs["access_token"]))
    [session] = listed.json["sessions"]
    for id in (session["id"], str(uuid4()), "9999999999999999999", "-1", "1.0", "%00"):
        path = f"/v1/user/sessions/{id}"
        site.http.delete(path, headers=bearer(tokens["access_token"]), status=404)
    site.me(theirs["access_token"])


@pytest.mark.control("X02")
@pytest.mark.control("T19")
def test_deleting_the_account_revokes_all_and_keeps_nothing(ann):
    site, keys, user, tokens = ann
    sign_in(site)
    body = {"email": user.email, "reset_url": "http://localhost/password/reset"}
    site.http.post_json("/v1/password/forgot", body, status=202)  # a mail that waits
    headers = bearer(tokens["access_token"])
    wrong = {"current_password": "wrong wrong"}
    site.http.delete_json("/v1/user", wrong, headers=headers, status=422)
    site.http.delete_json("/v1/user", {"current_password": PASSWORD}, headers=headers, status=204)
    site.me(tokens["access_token"], status=401)
    site.refresh(keys, tokens["refresh_token"], status=400)
    site.http.get("/account", status=302)
    site.login(keys, status=400)
    again = site.user(password=NEW)
    assert again.id != user.id
    fresh = site.login(keys, password=NEW)
    assert site.me(fresh["access_token"]).json["name"] is None
    with site.db() as db:
        assert db.query(OutboxMessage).all() == []
    assert site.mails() == []


@pytest.mark.control("T16")
@pytest.mark.parametrize(
    ("method", "path"),
    [("PATCH", "/v1/user"), ("PUT", "/v1/user/password"), ("PUT", "/v1/user/email"),
     ("GET", "/v1/user/sessions"), ("DELETE", "/v1/user"),
     ("DELETE", "/v1/user/sessions/5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11")],
)  # fmt: skip
def test_a_token_that_acts_for_a_client_is_no_user(site, method, path):
    machine = site.client("personal")
    token = site.token(machine, grant_type="client_credentials").json["access_token"]
    body = {"email": "x@example.com", "current_password": "x", "password": NEW}
    sent = {"params": body} if method != "GET" else {}
    answer = getattr(site.http, method.lower() + ("_json" if sent else ""))(
        path, headers=bearer(token), status=403, **sent
    )
    assert answer.json["errors"][0]["code"] == "user_required"
