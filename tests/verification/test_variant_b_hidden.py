"""Variant B with `prevent-enumeration`: a login before the address is confirmed (finding M5)."""

from tests.support.mails import signed_url
from tests.support.pages import submit
from tests.support.site import PASSWORD, WEB

BASE = "https://id.example.org"
HIDING = {
    "variant": "B",
    "require_email_confirmation": "true",
    "prevent_enumeration": "true",
    "base_url": BASE,
    **WEB,
}


def test_m5_registering_and_logging_in_does_not_reveal_who_is_registered(site_with):
    """M5: whether an address was free before, login refuses the unconfirmed like the unknown."""
    site = site_with(**HIDING)
    site.user("taken@example.com", confirmed=True)
    keys = site.first_party("web")
    responses, pages = [], []
    for email in ("taken@example.com", "free@example.com"):
        own = {"email": email, "password": "my own purple wolf 77"}
        responses.append(site.http.post_json("/v1/register", own, status=202).json)
        form = {"username": email, "password": own["password"]}
        responses.append(site.token(keys, 400, grant_type="password", **form).json)
        responses.append(site.http.post("/v1/clients/web/login", form, status=400).json)
        page = submit(site, "/login", **form)
        pages.append((page.status_int, "is incorrect" in page.text, "Confirm your" in page.text))
    assert responses[:3] == responses[3:]
    assert "errors" not in responses[-1]
    assert pages == [(422, True, False)] * 2


def test_m5_who_knows_the_password_is_notified_by_mail(site_with):
    """M5: the confirmation mail goes out instead, and its link opens the login."""
    site = site_with(**HIDING)
    site.user()
    site.mails()
    keys = site.first_party("web")
    assert site.login(keys, status=400)["error"] == "invalid_grant"
    [mail] = site.mails()
    assert mail["To"] == "ann@example.com"
    assert site.events()[-2:] == ["verification.requested", "login.failed"]
    site.http.get(signed_url(site, mail).removeprefix(BASE), status=200)
    site.login(keys)


def test_m5_a_wrong_password_mails_nothing(site_with):
    """M5: only who knows the password causes a mail."""
    site = site_with(**HIDING)
    site.user()
    site.mails()
    site.login(site.first_party("web"), password="not this one", status=400)
    assert site.mails() == []


def test_m5_hidden_denials_count_like_wrong_passwords(site_with, frozen):
    """M5: else the limit would tell a right password from a wrong one; mails are limited, too."""
    site = site_with(**HIDING, limits="on")
    site.user()
    site.mails()
    keys = site.first_party("web")
    seen = [site.try_login(keys, PASSWORD, address="198.51.100.1").status_int for _ in range(7)]
    assert seen == [400] * 5 + [429] * 2
    assert len(site.mails()) == 5
    frozen.advance(300)
    site.try_login(keys, PASSWORD, address="198.51.100.1")
    assert site.mails() == []
