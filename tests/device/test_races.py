"""Requests that meet: of several answers one counts, and of several uses one gets tokens."""

import pytest
from webtest import TestApp

from authsite.oauth.models import DEVICE_GRANT
from tests.support.authorizing import BASE
from tests.support.codes import codes
from tests.support.devices import PAGE, allow, poll, ready, rows, start, tool
from tests.support.pages import csrf_of
from tests.support.together import together

pytestmark = pytest.mark.both_databases
RACERS = 8


def poller(site, app, started):
    http = TestApp(site.app)
    form = {"grant_type": DEVICE_GRANT, "client_id": app.client_id}
    form["device_code"] = started["device_code"]
    return lambda: http.post(f"{BASE}/v1/oauth/token", form, status=(200, 400))


def answerer(site, started, decision):
    """Ann in another window of her browser."""
    form = {"csrf_token": csrf_of(site.http.get(PAGE)), "user_code": started["user_code"]}
    http = TestApp(site.app, extra_environ=dict(site.http.extra_environ))
    for cookie in site.http.cookiejar:
        http.cookiejar.set_cookie(cookie)
    return lambda: http.post(PAGE, {**form, "decision": decision}, status=(200, 422))


def errors(answers):
    return sorted(each.json.get("error", "") for each in answers)


def test_of_two_answers_one_counts(site):
    app = tool(site)
    for _ in range(4):
        started = start(site, app)
        decisions = ("allow", "deny", "allow")
        answers = together(*(answerer(site, started, each) for each in decisions))
        assert sorted(each.status_int for each in answers) == [200, 422, 422]
        [won] = [number for number, each in enumerate(answers) if each.status_int == 200]
        row = rows(site)[-1]
        assert row.approved is (decisions[won] == "allow")
        assert any(each.id == row.id for each in codes(site)) is row.approved
    answers = [name for name in site.events() if name.startswith("device.")]
    assert len(answers) == 4


def test_of_many_uses_one_gets_tokens(site):
    app = tool(site)
    started = start(site, app)
    allow(site, started)
    answers = together(*(poller(site, app, started) for _ in range(RACERS)))
    assert errors(answers) == ["", *["invalid_grant"] * (RACERS - 1)]
    assert len(site.families()) == 1
    assert site.events().count("token.issued") == 1


def test_a_request_for_the_tokens_and_the_answer_at_once(site):
    app = tool(site)
    for _ in range(4):
        started = start(site, app)
        asked, answered = together(poller(site, app, started), answerer(site, started, "allow"))
        assert answered.status_int == 200
        if asked.status_int == 400:
            assert asked.json["error"] == "authorization_pending"
            ready(site)
            assert poll(site, app, started)["access_token"]
    assert len(site.families()) == 4


def test_of_many_requests_at_once_all_but_one_are_too_early(site):
    app = tool(site)
    started = start(site, app)
    answers = together(*(poller(site, app, started) for _ in range(4)))
    assert errors(answers) == ["authorization_pending", *["slow_down"] * 3]
    assert rows(site)[0].interval == 20
