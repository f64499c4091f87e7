"""The short links of mails to our own pages: one token, and a GET that changes nothing."""

from urllib.parse import quote

import pytest

from tests.support.mails import link_in, reset_fields, signed_url, token_in
from tests.support.pages import submit
from tests.support.site import PASSWORD
from tests.verification.story import Story

NEW = "green otter 31 rye"


def registered(site):
    submit(site, "/register", email="ann@example.com", password=PASSWORD)
    [mail] = site.mails()
    return mail


def forgotten(site):
    site.user(confirmed=True)
    submit(site, "/password/forgot", email="ann@example.com")
    [mail] = site.mails()
    return mail


@pytest.mark.control("F17")
@pytest.mark.parametrize(
    ("mailed", "page"), [(registered, "/email/verify"), (forgotten, "/password/reset")]
)
def test_a_link_is_one_token_and_a_scanner_that_follows_it_changes_nothing(site, mailed, page):
    mail = mailed(site)
    link, events = link_in(mail), site.events()
    assert link.startswith(f"http://localhost{page}/")
    assert len(token_in(link)) <= 128
    for part in ("?", "%", "http", "ann"):
        assert part not in link.removeprefix("http://localhost")
    for method in (site.http.get, site.http.head, site.http.get):
        assert method(link).status_int == 200
    assert site.events() == events
    site.http.post(link, {"url": "x"}, status=405)
    opened = site.http.get(link)
    assert opened.headers["Cache-Control"] == "no-store"
    assert opened.html.select_one(f"[data-address='{page}']")
    assert token_in(link) not in opened.text


def test_links_that_were_mailed_before_the_upgrade_still_open(site):
    mail = registered(site)
    url = signed_url(site, mail)
    assert "Confirm" in site.http.get(f"/email/verify?url={quote(url, safe='')}")
    submit(site, "/password/forgot", email="ann@example.com")
    fields = reset_fields(site, site.mails()[-1])
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in fields.items())
    assert "Choose a new password" in site.http.get(f"/password/reset?{query}")
    story = Story(site_of(site))
    link = story.change()
    site.http.get(f"/email/change/revert?token={token_in(link)}", status=200)


def site_of(site):
    """The same site without Ann, whom `Story` creates."""
    from authsite.users.models import User

    with site.db() as db:
        db.query(User).delete()
    return site


@pytest.mark.parametrize("forge", [
    lambda token: token[:-1] + ("A" if token[-1] != "A" else "B"),
    lambda token: token[1:], lambda token: f"{token}A", lambda token: "x",
])  # fmt: skip
@pytest.mark.parametrize("mailed", [registered, forgotten])
def test_a_forged_token_opens_no_form_and_names_no_address(site, mailed, forge):
    link = link_in(mailed(site))
    forged = link.removesuffix(token_in(link)) + forge(token_in(link))
    site.http.reset()
    page = site.http.get(forged, status="*")
    assert page.status_int in (403, 422)
    assert "ann@example.com" not in page.text
    assert page.html.select("main input[name=token], main input[name=url]") == []


def test_a_used_reset_link_does_not_name_the_present_address(site):
    mail = forgotten(site)
    fields = {**reset_fields(site, mail), "password": NEW}
    site.http.post_json("/v1/password/reset", fields)
    site.http.reset()
    page = site.http.get(link_in(mail), status=422)
    assert "ann@example.com" not in page.text


def test_a_page_of_others_gets_the_long_links(site_with):
    page = "https://app.example.org/page"
    site = site_with(allowed_verify_email_urls=page, allowed_reset_password_urls=page)
    site.user()
    submit(site, "/email/link", email="ann@example.com")
    assert link_in(site.mails()[0]).startswith(f"{page}?url=http%3A%2F%2Flocalhost%2Fv1%2Femail%2F")
    submit(site, "/password/forgot", email="ann@example.com")
    link = link_in(site.mails()[0])
    assert link.startswith(f"{page}?email=ann%40example.com&token=")


def test_our_own_page_gets_a_short_link_also_when_the_setting_names_it(site_with):
    own = "http://localhost/email/verify"
    site = site_with(allowed_verify_email_urls=own)
    site.user()
    submit(site, "/email/link", email="ann@example.com")
    assert link_in(site.mails()[0]).startswith(f"{own}/")
