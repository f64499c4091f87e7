"""POSTs below /v1 that a page of another site may have sent: refused before anything is done."""

import pytest

from authsite.oauth.models import ORIGIN, ClientUri
from tests.support.authorizing import OPENID, application
from tests.support.counting import watched
from tests.support.site import WEB
from tests.support.walk import views

EVIL = "https://evil.example"
LISTED, SPA = "https://listed.example", "https://spa.example"
RESETS, VERIFIES = "https://resets.example", "https://verifies.example"
SETTINGS = {
    "limits": "on",
    "limits_storage": "database",
    "cors_origins": LISTED,
    "allowed_reset_password_urls": f"{RESETS}/reset",
    "allowed_verify_email_urls": f"{VERIFIES}/verify",
}
FOREIGN = [
    {"Origin": EVIL},
    {"Origin": EVIL, "Sec-Fetch-Site": "cross-site"},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    {"Origin": ""},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]
FORMS = {
    "/v1/register": {"email": "x@example.com", "password": "purple wolf 77 tea"},
    "/v1/password/forgot": {"email": "ann@example.com", "reset_url": f"{RESETS}/reset"},
    "/v1/password/reset": {"email": "ann@example.com", "token": "x", "password": "y"},
    "/v1/email/verification-notification": {"email": "ann@example.com"},
    "/v1/email/verify/x/y": {},
    "/v1/oauth/token": {"grant_type": "password"},
    "/v1/oauth/revoke": {"token": "x"},
    "/v1/oauth/introspect": {"token": "x"},
    "/v1/oauth/device": {"client_id": "x"},
}


@pytest.fixture
def site(site_with):
    return site_with(**OPENID, **SETTINGS)


def post(site, path, headers, **more):
    url = f"https://auth.example.com{path}"
    return site.http.post(url, {**FORMS[path], **more}, headers=headers, status="*")


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
@pytest.mark.parametrize("path", [each for each in FORMS if "notification" not in each])
def test_a_page_of_another_site_is_refused_before_anything_is_done(site, path, headers):
    site.user()
    with watched(site) as seen:
        answer = post(site, path, headers)
    assert answer.status_int == 403
    if path.startswith("/v1/oauth/"):
        assert answer.json["error"] == "cross_origin"
        assert "cors-origins" in answer.json["error_description"]
    else:
        assert answer.json["errors"][0]["code"] == "cross_origin"
        assert "cors-origins" in answer.json["message"]
    assert [each.wrote for each in seen] == [False]


def test_a_foreign_origin_is_looked_at_before_the_body(site):
    answer = site.http.post(
        "https://auth.example.com/v1/oauth/token",
        b"\xff",
        headers={"Origin": EVIL, "Content-Type": "text/plain"},
        status=403,
    )
    assert answer.json["error"] == "cross_origin"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "https://auth.example.com", "Sec-Fetch-Site": "same-origin"},
        {"Origin": LISTED, "Sec-Fetch-Site": "cross-site"},
        {"Origin": SPA, "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "none"},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", [each for each in FORMS if "notification" not in each])
def test_programs_our_pages_and_those_of_known_origins_go_on(site_with, path, headers):
    # A process reads the origins of clients at most once in ten seconds: another process.
    site = site_with(**{**OPENID, **SETTINGS, "cors_origins": f"{LISTED} https://two.example"})
    page = application(site, "browser")
    with site.db() as db:
        db.add(ClientUri(id=page.id, client_id=page.id, kind=ORIGIN, uri=SPA, position=0))
    answer = post(site, path, headers)
    assert "cross_origin" not in answer.text


@pytest.mark.parametrize(
    ("origin", "open_"),
    [
        (RESETS, {"/v1/password/forgot", "/v1/password/reset"}),
        (VERIFIES, {"/v1/email/verify/x/y"}),
    ],
)
def test_the_pages_that_mailed_links_open_may_use_what_the_links_are_for(site, origin, open_):
    headers = {"Origin": origin, "Sec-Fetch-Site": "cross-site"}
    passed = {
        path
        for path in FORMS
        if "notification" not in path and "cross_origin" not in post(site, path, headers).text
    }
    assert passed == open_


def test_without_a_token_a_link_is_not_requested_for_another_site(site_with):
    """Variant B takes an address in the body; with a token the browser asks first."""
    site = site_with(variant="B", require_email_confirmation="true", **WEB)
    keys, path = site.first_party("web"), "/v1/email/verification-notification"
    site.user(confirmed=True)
    form = FORMS[path]
    assert site.http.post(path, form, status=202)
    refused = site.http.post(path, form, headers={"Origin": EVIL}, status=403)
    assert refused.json["errors"][0]["code"] == "cross_origin"
    token = site.login(keys)["access_token"]
    headers = {"Origin": EVIL, "Authorization": f"Bearer {token}"}
    assert site.http.post(path, headers=headers, status="*").status_int != 403


def test_every_endpoint_that_takes_forms_without_a_token_is_checked(site_with):
    """A new one, too."""
    site = site_with(**{**OPENID, **SETTINGS, **WEB})
    values = {"client": "web", "user_id": "x", "hash": "y", "id": "z", "name": "n"}
    checked = set()
    routes = {each.name: each for each in site.app.routes_mapper.get_routes()}
    for name, method in views(site):
        pattern = routes[name].pattern
        if method != "POST" or not pattern.startswith("/v1/") or name.startswith("authsite.guard"):
            continue
        url = f"https://auth.example.com{pattern.format(**values)}"
        answer = site.http.post(url, b"", headers={"Origin": EVIL}, status="*")
        if answer.status_int != 401:  # a token is needed, and a form cannot send one
            assert answer.status_int == 403, (name, answer.status_int)
            checked.add(name)
    assert len(checked) >= 15
