"""Proving an address, Variant A: the mail, the link, and who may ask."""

from urllib.parse import parse_qs, urlsplit

import pytest

from authsite.users import service as users
from tests.support.acting import acting
from tests.support.mails import link_in
from tests.support.site import bearer

PAGE = "https://app.example.org/verify"
NOTIFICATION = "/v1/email/verification-notification"


@pytest.fixture
def verifying(site_with):
    return site_with(allowed_verify_email_urls=PAGE, base_url="https://id.example.org")


def request_link(site, token, status=202, url=PAGE):
    return site.http.post_json(
        NOTIFICATION, {"verification_url": url}, headers=bearer(token), status=status
    )


def mailed_path(site):
    """The signed URL in the one mail that waits, as path and query."""
    [mail] = site.mails()
    link = link_in(mail)
    assert link.startswith(f"{PAGE}?url=https%3A%2F%2Fid.example.org%2Fv1%2Femail%2Fverify%2F")
    [url] = parse_qs(urlsplit(link).query)["url"]
    return url.removeprefix("https://id.example.org")


@pytest.fixture
def token(verifying):
    keys = verifying.client()
    verifying.user()
    return verifying.login(keys)["access_token"]


def test_the_mailed_link_verifies_the_address(verifying, token):
    assert "way" in request_link(verifying, token).json["message"]
    path = mailed_path(verifying)
    assert verifying.me(token).json["confirmed"] is False
    assert verifying.http.get(path).json == {"message": "The e-mail address is verified."}
    user = verifying.me(token).json
    assert user["confirmed"] is True
    assert user["email_verified_at"].endswith("Z")


@pytest.mark.control("F07")
def test_a_used_link_gets_200_again_and_is_one_event(verifying, token):
    request_link(verifying, token)
    path = mailed_path(verifying)
    verifying.http.post(path, status=200)
    verifying.http.get(path, status=200)
    assert verifying.events().count("user.confirmed") == 1


@pytest.mark.control("F07")
def test_head_and_options_never_verify(verifying, token):
    request_link(verifying, token)
    path = mailed_path(verifying)
    verifying.http.head(path, status=200)
    verifying.http.options(path, status=405)
    assert verifying.me(token).json["confirmed"] is False
    verifying.http.get(path, status=200)


@pytest.mark.control("S06")
def test_the_link_gives_neither_token_nor_cookie(verifying, token):
    request_link(verifying, token)
    answer = verifying.http.get(mailed_path(verifying))
    assert "Set-Cookie" not in answer.headers
    assert set(answer.json) == {"message"}


def test_a_verified_user_is_informed_and_gets_no_mail(verifying, token):
    request_link(verifying, token)
    verifying.http.get(mailed_path(verifying))
    verifying.mails()
    request_link(verifying, token, status=200)
    assert verifying.mails() == []


def test_a_first_verification_is_welcomed_by_mail(verifying, token):
    request_link(verifying, token)
    verifying.http.get(mailed_path(verifying))
    [welcome] = verifying.mails()
    assert welcome["To"] == "ann@example.com"


def test_asking_needs_a_token_a_page_and_a_user(verifying, token):
    verifying.http.post_json(NOTIFICATION, {"verification_url": PAGE}, status=401)
    answer = verifying.http.post_json(NOTIFICATION, {}, headers=bearer(token), status=422)
    assert answer.json["errors"][0]["code"] == "required"
    machine = verifying.client("personal")
    tokens = verifying.token(machine, grant_type="client_credentials").json
    answer = request_link(verifying, tokens["access_token"], status=403)
    assert answer.json["errors"][0]["code"] == "user_required"


MUTATIONS = [
    PAGE + "/", PAGE + "?", PAGE + "?x=1", PAGE + "#x", PAGE + "/../verify", PAGE.upper(),
    PAGE.replace("https", "http"), PAGE.replace("https", "HTTPS"),
    PAGE.replace(".org", ".org:443"), PAGE.replace(".org", ".org."),
    PAGE.replace("app", "APP"), PAGE.replace("app.", "evil.app."),
    PAGE.replace("//", "//user@"), PAGE.replace("//", "//app.example.org@evil.example/"),
    PAGE.replace("/verify", "\\verify"), PAGE.replace("/verify", "//verify"),
    PAGE.replace("/verify", "/%76erify"), PAGE.replace("/verify", "/verify%00"),
    PAGE.replace("/verify", "/verify%0d%0aX: y"), " " + PAGE, PAGE + " ", PAGE + "\t",
    "//app.example.org/verify", "/verify", "javascript:alert(1)", "https://evil.example/verify",
    "https:app.example.org/verify", PAGE[:-1], PAGE.replace("e", "ｅ"),
]  # fmt: skip


@pytest.mark.control("F01")
@pytest.mark.parametrize("url", MUTATIONS)
def test_a_page_that_does_not_equal_a_listed_one_is_an_error_and_nothing_is_sent(
    verifying, token, url
):
    answer = request_link(verifying, token, status=422, url=url)
    assert [(e["code"], e["field"]) for e in answer.json["errors"]] == [
        ("not_allowed", "verification_url")
    ]
    assert verifying.mails() == []


def test_registering_with_a_page_mails_the_link_and_without_one_nothing(verifying):
    body = {"email": "bo@example.com", "password": "purple wolf 77 tea"}
    verifying.http.post_json("/v1/register", body, status=201)
    assert verifying.mails() == []
    body = {**body, "email": "cy@example.com", "verification_url": PAGE}
    verifying.http.post_json("/v1/register", body, status=201)
    verifying.http.get(mailed_path(verifying), status=200)


@pytest.mark.control("T20")
def test_the_link_of_a_disabled_user_is_refused(verifying, token):
    request_link(verifying, token)
    path = mailed_path(verifying)
    with verifying.db() as db:
        users.disable(acting(db), users.find(db, "ann@example.com"))
    answer = verifying.http.get(path, status=403)
    assert answer.json["errors"][0]["code"] == "invalid_signature"
