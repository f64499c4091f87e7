"""What counts at the authorization endpoint, and what a silent request is told then."""

import pytest
from sqlalchemy import func, select

from authsite.platform.audit.models import AuditEvent
from authsite.platform.stored_requests import StoredRequest
from tests.support import databases
from tests.support.authorizing import (
    BASE,
    OPENID,
    answer_of,
    application,
    authorize,
    code_for,
    leads_to,
    parameters,
    sign_in,
)
from tests.support.counting import watched
from tests.support.pages import csrf_of
from tests.support.site import Site
from tests.support.statements import fail_all, stepping_between

CROSS = {"Sec-Fetch-Site": "cross-site"}
FRAME = {**CROSS, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
IMAGE = {**CROSS, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
SCRIPT = {**CROSS, "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
LINK = {**CROSS, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
FEW = {
    **OPENID,
    "limits": "on",
    "limits_storage": "database",
    "limits.authorize_address": "2/minute",
    "limits.authorize_user": "3/minute, 4/hour",
}


@pytest.fixture
def site(site_with):
    return site_with(**FEW)


@pytest.fixture
def app(site):
    return application(site)


def events(site, name="authorization.refused"):
    with site.db() as db:
        return db.scalar(
            select(func.count()).select_from(AuditEvent).where(AuditEvent.event == name)
        )


def post(site, sent, headers):
    return site.http.post(f"{BASE}/oauth/authorize", sent, headers=headers, status="*")


@pytest.mark.parametrize("headers", [IMAGE, SCRIPT], ids=["image", "script"])
def test_what_is_no_navigation_is_refused_and_does_not_count(site, app, headers):
    authorize(site, app)  # the first request of a process makes the signing keys
    with watched(site) as seen:
        for _ in range(4):
            for changed in ({"client_id": "x"}, {"response_type": "token"}, {"prompt": "none"}):
                assert authorize(site, app, headers=headers, **changed).status_int == 400
    assert not any(each.wrote for each in seen)
    assert authorize(site, app, headers=LINK, response_type="token").status_int == 302


def test_in_a_frame_a_page_is_400_and_an_answer_goes_to_the_application(site, app):
    for _ in range(4):
        assert authorize(site, app, headers=FRAME, client_id="x").status_int == 400
        told = answer_of(authorize(site, app, headers=FRAME, prompt="none"))
        assert told["error"] == "login_required"
        told = answer_of(authorize(site, app, headers=FRAME, response_type="token"))
        assert told["error"] == "unsupported_response_type"
    posted = post(site, parameters(app, response_type="token"), {**FRAME, "Origin": "null"})
    assert answer_of(site.http.get(posted.location, headers=FRAME))["error"]
    assert events(site) == 2  # each reason once an hour


def test_a_client_without_a_place_to_lead_to_is_400_in_a_frame_whatever_the_page_says(site):
    site.user(confirmed=True)
    app = application(site, require_group="nobody-is-in-it")
    sign_in(site)
    assert authorize(site, app).status_int == 403
    assert authorize(site, app, headers=FRAME).status_int == 400


@pytest.mark.parametrize("headers", [FRAME, IMAGE, SCRIPT], ids=["frame", "image", "script"])
def test_a_long_request_is_stored_for_a_navigation_alone(site, app, headers):
    sent = parameters(app, x="l" * 3000)
    with watched(site) as seen:
        assert post(site, sent, headers).status_int == 400
        assert authorize(site, app, headers=headers, x="l" * 3000).status_int == 400
    assert not any(each.wrote for each in seen)
    with site.db() as db:
        assert db.scalar(select(func.count()).select_from(StoredRequest)) == 0
    assert post(site, sent, LINK).status_int == 303


def test_login_required_of_a_registered_client_does_not_count(site, app):
    for _ in range(5):
        assert answer_of(authorize(site, app, prompt="none"))["error"] == "login_required"
    assert events(site) == 1  # once an hour


def test_over_the_limit_a_silent_request_is_answered(site, app):
    for _ in range(2):
        authorize(site, app, response_type="token")
    assert authorize(site, app, response_type="token").status_int == 429
    told = answer_of(authorize(site, app, response_type="token", prompt="none"))
    assert (told["error"], told["state"]) == ("temporarily_unavailable", "st-1")


def test_in_an_outage_a_silent_request_is_answered(database_url, monkeypatch):
    """From the moment that the client and the redirect URI are known."""
    site = Site(database_url, **FEW)
    databases.empty(site.database)
    app = application(site)
    site.user(confirmed=True)
    code_for(site, app)
    reads_session = "SELECT web_sessions."
    pool = site.database.prepared
    with stepping_between(
        pool, "before", reads_session, lambda: fail_all(monkeypatch, site.database)
    ) as away:
        told = answer_of(authorize(site, app, prompt="none"))
    site.database.dispose()
    assert away
    assert told["error"] == "temporarily_unavailable"


def test_what_one_user_allows_and_denies_is_limited(site):
    site.user(confirmed=True)
    app = application(site, first_party=True)
    code_for(site, app)
    for _ in range(2):
        assert authorize(site, app).status_int == 302
    before = events(site, "authorization.granted")
    answer = authorize(site, app)
    assert (answer.status_int, "Retry-After" in answer.headers) == (429, True)
    told = answer_of(authorize(site, app, prompt="none"))
    assert told["error"] == "temporarily_unavailable"
    assert events(site, "authorization.granted") == before == 3
    third = application(site, name="Third")
    shown = authorize(site, third)
    form = {"csrf_token": csrf_of(shown), "decision": "deny"}
    assert site.http.post(shown.request.url, form, status=429)
    assert events(site, "authorization.denied") == 0
    site.user("bo@example.com", confirmed=True)
    site.http.reset()
    assert leads_to(authorize(site, app)) == "/login"
