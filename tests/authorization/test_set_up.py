"""A client whose administrator answers for its users (``consent = none``)."""

import pytest

from authsite.oauth.models import Client
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
from tests.support.pages import submit

PAGE = "/account/security"
API, OTHER = "https://api.example.org/", "https://other.example.org/"


@pytest.fixture
def site(site_with):
    made = site_with(**OPENID, scopes="notes:read: Read notes", site_name="Acme")
    made.ann = made.user(confirmed=True)
    sign_in(made)
    return made


def tool(site, **more):
    return application(site, scope="notes:read", no_consent=True, name="Tool", **more)


def section(site, path=PAGE):
    found = site.http.get(f"{BASE}{path}").html.select_one("section[aria-labelledby=consents]")
    return found and " ".join(found.get_text(" ").split())


@pytest.mark.both_databases
@pytest.mark.parametrize("prompt", [None, "none"])
def test_nothing_is_asked_for_what_the_client_may_have_and_nothing_is_written(site, prompt):
    app = tool(site)
    scope = "openid profile email groups offline_access notes:read"
    code = answer_of(authorize(site, app, scope=scope, prompt=prompt))["code"]
    assert redeemed(site, app, code)["access_token"]
    assert connected.consents(site) == []
    assert "consent.given" not in site.events()


def test_the_default_resource_is_what_it_may_have_and_another_one_is_asked_for(site):
    for uri in (API, OTHER):
        resource(site, uri, "notes:read", site.client("resource-server"))
    app = tool(site, default_resource=API)
    for sent in (None, API, API.rstrip("/")):
        assert "code" in answer_of(authorize(site, app, scope="openid notes:read", resource=sent))
    silent = authorize(site, app, scope="notes:read", resource=OTHER, prompt="none")
    assert answer_of(silent)["error"] == "consent_required"
    page = authorize(site, app, scope="notes:read", resource=OTHER)
    assert asks_consent(page)
    assert "code" in answer_of(press(site, page))
    assert connected.consents(site) == [(app.id, "notes:read")]
    # What was allowed is remembered, as for every third party.
    assert "code" in answer_of(authorize(site, app, scope="notes:read", resource=OTHER))


def test_it_asks_when_the_application_wants_it_and_on_this_computer(site):
    app = tool(site)
    assert asks_consent(authorize(site, app, prompt="consent"))
    local = tool(site, redirect_uris=["http://127.0.0.1:8000/callback"])
    assert asks_consent(authorize(site, local))
    assert "code" in answer_of(press(site, authorize(site, local)))
    assert connected.consents(site) == [(local.id, "openid email")]
    assert asks_consent(authorize(site, local))


def test_a_device_asks_in_any_case(site):
    app = tool(site, type="native")
    page = devices.enter(site, devices.start(site, app)["user_code"])
    assert "Tool" in page.text
    assert asks_consent(page)


def test_it_stays_a_third_party(site):
    app, own = tool(site), application(site, first_party=True, scope="account")
    server = site.client("resource-server")
    for client, is_own in ((app, False), (own, True)):
        scope = "openid account" if is_own else "openid notes:read"
        token = redeemed(site, client, code_for(site, client, scope=scope))["access_token"]
        headers = {"Authorization": f"Bearer {token}"}
        answer = site.http.get(f"{BASE}/v1/user", headers=headers, status="*")
        assert (answer.status_int == 200) is is_own
        assert site.introspect(server, token)["active"] is is_own


def test_the_account_page_says_who_set_it_up_and_ends_its_sign_ins(site):
    app = tool(site)
    assert section(site) is None
    tokens = redeemed(site, app, code_for(site, app))
    waiting = code_for(site, app)
    shown = section(site)
    assert "Tool Set up by Acme · Last used" in shown
    assert "Remove access" not in shown
    answer = submit(site, f"/account/consents/{app.id}/end", page=PAGE)
    assert answer.location.endswith(f"{PAGE}?done=ended_sign_ins")
    assert connected.unrevoked(site) == set()
    assert "has been signed out" in section(site, f"{PAGE}?done=ended_sign_ins")
    refused = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    keys = {"client_id": app.client_id, "client_secret": app.client_secret}
    site.http.post(f"{BASE}/v1/oauth/token", refused | keys, status=400)
    redeemed(site, app, waiting, status=400)
    assert section(site) is None
    assert "code" in answer_of(authorize(site, app))  # and it comes again without a question


def test_what_was_allowed_before_is_no_access_that_can_be_removed_for_good(site):
    app = application(site, name="Tool")
    code_for(site, app)
    assert "Remove access" in section(site)
    with site.db() as db:
        db.get(Client, app.id).no_consent = True
    shown = section(site)
    assert "Remove access" not in shown
    assert "Set up by Acme" in shown
    submit(site, f"/account/consents/{app.id}/end", page=PAGE)
    assert connected.consents(site) == []


def test_only_its_own_sign_ins_end(site):
    app, other = tool(site), tool(site)
    kept = redeemed(site, other, code_for(site, other))
    redeemed(site, app, code_for(site, app))
    bob = site.user("bob@example.com", confirmed=True)
    connected.family(site, bob, app.id)
    submit(site, f"/account/consents/{app.id}/end", page=PAGE)
    assert len(connected.unrevoked(site)) == 2
    keys = {"client_id": other.client_id, "client_secret": other.client_secret}
    again = {"grant_type": "refresh_token", "refresh_token": kept["refresh_token"], **keys}
    site.http.post(f"{BASE}/v1/oauth/token", again, status=200)


def test_the_form_needs_its_token_and_an_id(site):
    app = tool(site)
    redeemed(site, app, code_for(site, app))
    site.http.post(f"{BASE}/account/consents/{app.id}/end", {}, status=403)
    assert submit(site, "/account/consents/x/end", page=PAGE).status_int == 404
    assert len(connected.unrevoked(site)) == 1
