"""An application gets tokens for a resource only where the user was asked about that resource."""

import pytest

from authsite.oauth.consents.service import Consent
from tests.support import connected, devices
from tests.support.applications import resource
from tests.support.authorizing import (
    BASE,
    OPENID,
    answer_of,
    application,
    asks_consent,
    authorize,
    code_for,
    press,
    redeemed,
    sign_in,
)
from tests.support.site import bearer

MCP, OTHER = "https://mcp.example.org/", "https://other.example.org/"
pytestmark = pytest.mark.both_databases


@pytest.fixture
def site(site_with):
    made = site_with(**OPENID, scopes="notes:read: Read notes\nfiles:read: Read files")
    made.ann = made.user(confirmed=True)
    made.server = made.client("resource-server")
    resource(made, MCP, "notes:read", made.server)
    resource(made, OTHER, "openid files:read", made.server)
    sign_in(made)
    return made


def resources_of(site):
    with site.db() as db:
        return [row.resources for row in db.query(Consent)]


def test_what_was_allowed_elsewhere_gives_no_token_for_a_resource(site):
    app = application(site, scope="notes:read files:read")
    code_for(site, app, scope="openid email")
    for uri in (MCP, OTHER):
        silent = authorize(site, app, scope="openid", resource=uri, prompt="none")
        assert answer_of(silent)["error"] == "consent_required"
        page = authorize(site, app, scope="openid", resource=uri)
        assert asks_consent(page)
        assert uri in page.html.select_one("main").get_text()
    done = answer_of(press(site, page))
    assert redeemed(site, app, done["code"])["scope"] == "openid"
    assert resources_of(site) == [OTHER]
    [*_, (_, _, _, details)] = connected.events(site, "consent.given")
    assert details == {"scope": "", "resource": OTHER}
    assert answer_of(authorize(site, app, scope="openid", resource=OTHER, prompt="none"))["code"]
    silent = authorize(site, app, scope="openid", resource=MCP, prompt="none")
    assert answer_of(silent)["error"] == "consent_required"


def test_who_has_allowed_a_scope_of_the_resource_is_not_asked(site):
    app = application(site, scope="notes:read")
    code_for(site, app, scope="openid notes:read")
    answer = authorize(site, app, scope="openid", resource=MCP, prompt="none")
    assert answer_of(answer)["code"]


def test_the_default_resource_of_a_third_party_is_asked_for_once(site):
    app = application(site, default_resource=MCP)
    page = authorize(site, app, scope="openid")
    assert MCP in page.html.select_one("main").get_text()
    assert answer_of(press(site, page))["code"]
    assert answer_of(authorize(site, app, scope="openid", prompt="none"))["code"]


def test_an_application_of_our_own_is_not_asked_about(site):
    app = application(site, first_party=True)
    answer = authorize(site, app, scope="openid", resource=MCP, prompt="none")
    assert answer_of(answer)["code"]
    assert resources_of(site) == []


def test_a_device_is_asked_about_and_the_list_has_it(site):
    tool = devices.tool(site)
    started = devices.start(site, tool, scope="openid", resource=MCP)
    devices.allow(site, started)
    devices.poll(site, tool, started)
    assert resources_of(site) == [MCP]
    own = application(site, first_party=True, scope="account")
    tokens = redeemed(site, own, code_for(site, own, scope="openid account"))
    headers = bearer(tokens["access_token"])
    [listed] = site.http.get(f"{BASE}/v1/user/consents", headers=headers).json
    assert listed["resources"] == [MCP]
    assert MCP in site.http.get(f"{BASE}/account/security").text


def test_introspection_says_whose_application_it_is(site):
    for first_party in (False, True):
        app = application(site, first_party=first_party, scope="notes:read")
        code = code_for(site, app, scope="openid notes:read", resource=MCP)
        tokens = redeemed(site, app, code)
        found = site.introspect(site.server, tokens["access_token"])
        assert (found["aud"], found["third_party"]) == (MCP, not first_party)
    password = site.login(site.client())["access_token"]
    assert "third_party" not in site.introspect(site.server, password)
