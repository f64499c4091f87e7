"""A browser session of before the day from which the policy requires a second factor."""

import re
from datetime import timedelta

import pytest

from authsite.platform.runtime import clock
from tests.support.mails import text_of
from tests.support.pages import hidden_in, sign_in, submit
from tests.support.site import PASSWORD

from .people import App

PAGE = "/account/factors/totp"
CODE = re.compile(r"\b([A-Z]{4}-[A-Z]{4})\b")


@pytest.fixture
def site(site_with):
    """A site whose policy holds, and a session of a password alone."""
    tomorrow = clock.now() + timedelta(days=1)
    made = site_with(second_factor="required", second_factor_from=tomorrow.date().isoformat())
    made.user(confirmed=True)
    sign_in(made)
    day = made.cfg.second_factor_from
    object.__setattr__(made.cfg, "second_factor_from", None)  # the day has come
    yield made
    object.__setattr__(made.cfg, "second_factor_from", day)


def test_every_page_leads_to_the_set_up_and_then_on(site):
    answer = site.http.get("/account/access", status=302)
    assert "/login/verify?next=" in answer.location
    answer = answer.follow(status=303)
    assert answer.location == "http://localhost/account/factors?next=%2Faccount%2Faccess"
    page = answer.follow().click(href="/account/factors/totp")
    submit(site, f"{PAGE}/mail", page=PAGE)
    fields = {"mail_code": CODE.search(text_of(site.mails()[-1]))[1]}
    fields["next"] = hidden_in(page, "next")
    page = submit(site, PAGE, current_password=PASSWORD, **fields)
    secret = page.html.find("p", class_="key").text.replace(" ", "")
    fields = {name: hidden_in(page, name) for name in ("enrollment", "next")}
    shown = submit(site, f"{PAGE}/confirm", page=PAGE, code=App(secret).code(), **fields)
    answer = shown.forms[1].submit()
    assert answer.location == "http://localhost/account/access"
    site.http.get("/account/access", status=200)


@pytest.mark.parametrize("path", ["/account/factors/codes", "/account/factors/after-password"])
def test_other_changes_wait_for_it(site, path):
    form = {"current_password": PASSWORD, "after_password": "true"}
    answer = submit(site, path, page="/account/security", **form)
    assert "/login/verify?" in answer.location
