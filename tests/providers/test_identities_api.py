"""The API of identities and providers, and logins of a user without a password."""

from uuid import UUID

from authsite.platform.runtime import clock
from authsite.users.models import User
from tests.providers.people import confirmed, without_password
from tests.support.identities import linked
from tests.support.mails import text_of
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, WEB, bearer


def test_the_api_lists_and_removes_identities_and_answers_without_a_password_with_401(
    site_of, google
):
    site = site_of(google)
    ann, keys = site.user(confirmed=True), site.client()
    headers = bearer(site.login(keys)["access_token"])
    bo = site.user("bo@example.com")
    with site.db() as db:
        row = linked(db, ann.id, issuer=google.issuer)
        linked(db, bo.id)
    [listed] = site.http.get("/v1/user/identities", headers=headers).json
    assert listed == {
        "id": str(row.id), "provider": "google", "label": "Google", "email": "ann@gmail.com",
        "created_at": clock.rfc3339(row.created_at), "last_used_at": None,
    }  # fmt: skip
    path = f"/v1/user/identities/{row.id}"
    answer = site.http.delete_json(path, {}, headers=headers, status=422)
    assert (answer.json["errors"][0]["code"], answer.json["errors"][0]["field"]) == (
        "required", "current_password",
    )  # fmt: skip
    own = {"current_password": PASSWORD}
    site.http.delete_json(f"/v1/user/identities/{UUID(int=0)}", own, headers=headers, status=404)
    without_password(site, ann)
    for method, sensitive in (
        ("DELETE", path),
        ("DELETE", "/v1/user"),
        ("POST", "/v1/user/export"),
    ):
        refused = site.http.request(
            sensitive, method=method, headers=headers, body=b"{}",
            content_type="application/json", status=401,
        )  # fmt: skip
        assert refused.json["errors"][0]["code"] == "insufficient_user_authentication"
        assert refused.headers["WWW-Authenticate"] == (
            'Bearer error="insufficient_user_authentication", max_age=600'
        )
    with site.db() as db:
        db.get(User, ann.id).password_hash = ann.password_hash
    site.http.delete_json(path, own, headers=headers, status=204)
    assert site.http.get("/v1/user/identities", headers=headers).json == []


def test_a_confirmation_in_a_browser_is_no_proof_for_an_access_token(site_of, google):
    site = site_of(google)
    ann, keys = site.user(confirmed=True), site.client()
    headers = bearer(site.login(keys)["access_token"])
    with site.db() as db:
        row = linked(db, ann.id, issuer=google.issuer)
    sign_in(site)
    without_password(site, ann)
    confirmed(site, ann)
    site.http.delete_json(f"/v1/user/identities/{row.id}", {}, headers=headers, status=401)


def test_an_application_lists_the_providers_of_the_settings(site_of, google, github):
    site = site_of(github, google, **WEB)
    assert site.http.get("/v1/clients/web/providers").json == [
        {"name": "github", "label": "GitHub", "start_url": "http://localhost/login/with/github"},
        {"name": "google", "label": "Google", "start_url": "http://localhost/login/with/google"},
    ]
    site.http.get("/v1/clients/unknown/providers", status=404)


def test_a_login_with_a_password_of_a_user_who_has_none_is_answered_and_counted_as_a_wrong_one(
    site_of, google, hashes
):
    site = site_of(google, limits="on", **WEB)
    ann, _bo = site.user(confirmed=True), site.user("bo@example.com", confirmed=True)
    keys = site.first_party("web")
    with site.db() as db:
        linked(db, ann.id, issuer=google.issuer)
    without_password(site, ann)
    seen = {}
    for name in ("ann@example.com", "bo@example.com"):
        hashes.clear()
        by_token = [site.try_login(keys, username=name) for _ in range(6)]
        given = {"username": name, "password": "not this one"}
        by_proxy = site.http.post_json("/v1/clients/web/login", given, status="*")
        answers = [(each.status_int, each.json["error"]) for each in (*by_token, by_proxy)]
        seen[name] = (answers, len(hashes))
    assert seen["ann@example.com"] == seen["bo@example.com"]
    notices = {mail["To"]: text_of(mail) for mail in site.mails()}
    assert "with: Google." in notices["ann@example.com"]
    assert "without a password" not in notices["bo@example.com"]
    form = submit(site, "/password/forgot", email="ann@example.com")
    assert form.status_int == 303
    [mail] = [each for each in site.mails() if "/password/reset/" in text_of(each)]
    assert mail["To"] == "ann@example.com"
