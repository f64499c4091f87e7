"""The answer on a page is for what the page has shown, whatever was added since."""

import pytest
from sqlalchemy import select

from authsite.groups import members
from authsite.groups import service as groups
from authsite.groups.service import GroupValues
from authsite.oauth.clients import registration
from authsite.oauth.consents.service import Consent
from authsite.oauth.models import Client
from authsite.platform.audit.service import Cause
from tests.support import applications, devices
from tests.support.authorizing import (
    OPENID,
    answer_of,
    application,
    authorize,
    log_in,
    press,
    sign_in,
)
from tests.support.factors import context

SCOPES = "\n  notes:read: Read notes\n  payments:write [groups]: Pay invoices"
ASKED = "openid notes:read payments:write"
CAUSE = Cause("command")


@pytest.fixture
def site(site_with):
    made = site_with(**OPENID, scopes=SCOPES)
    made.ann = made.user(confirmed=True)
    with made.db() as db:
        groups.create(context(made, db), "finance", GroupValues("Finance", "payments:write"), CAUSE)
    return made


def consents(site):
    with site.db() as db:
        return db.scalars(select(Consent.scope)).all()


def join(site):
    with site.db() as db:
        members.add(context(site, db), "finance", site.ann.id, CAUSE)


def scopes(page):
    return [next(item.stripped_strings) for item in page.html.select(".scopes > li")]


def test_what_a_group_gives_after_the_page_was_shown_is_shown_first(site):
    app = application(site, scope="notes:read payments:write")
    page = log_in(site, authorize(site, app, scope=ASKED))
    assert scopes(page) == ["Sign you in", "Read notes"]
    join(site)
    again = press(site, page)
    assert scopes(again) == ["Sign you in", "Read notes", "Pay invoices"]
    assert consents(site) == []
    assert "code" in answer_of(press(site, again))
    assert consents(site) == [ASKED]


def test_what_a_client_may_ask_for_since_the_page_was_shown_is_shown_first(site_with):
    """Without the setting `scopes`, what a client may not ask for is left out of the page."""
    site = site_with(**OPENID)
    site.user(confirmed=True)
    app = application(site, scope="notes:read")
    page = log_in(site, authorize(site, app, scope=ASKED))
    assert scopes(page) == ["Sign you in", "notes:read"]
    with site.db() as db:
        client = db.get(Client, app.id)
        registration.change(context(site, db), client, scope="notes:read payments:write")
    assert scopes(press(site, page)) == ["Sign you in", "notes:read", "payments:write"]
    assert consents(site) == []


def test_what_was_shown_and_is_left_is_allowed(site):
    join(site)
    app = application(site, scope="notes:read payments:write")
    page = log_in(site, authorize(site, app, scope=ASKED))
    with site.db() as db:
        members.remove(context(site, db), "finance", site.ann.id, CAUSE)
    assert "code" in answer_of(press(site, page))
    assert consents(site) == ["openid notes:read"]


def test_a_device_gets_only_what_was_shown(site):
    tool = devices.tool(site, scope="notes:read payments:write")
    sign_in(site)
    question = devices.enter(site, devices.start(site, tool, scope=ASKED))
    join(site)
    again = devices.press(site, question, "allow")
    assert scopes(again) == ["Sign you in", "Read notes", "Pay invoices"]
    assert consents(site) == []
    devices.press(site, again, "allow")
    assert consents(site) == [ASKED]


def test_the_page_names_the_resource_at_which_the_access_is_used(site):
    uri = "https://wiki.example/"
    applications.resource(site, uri, "notes:read", None)
    app = application(site, scope="notes:read")
    page = log_in(site, authorize(site, app, scope="openid notes:read", resource=uri))
    assert f"It can use this access at {uri}." in page.html.select_one("main").get_text()
    press(site, page)
    plain = authorize(site, app, scope="openid notes:read", prompt="consent")
    assert "It can use this access at" not in plain.text
