"""The bundled web client in one tab: log in, come back, call, refresh, log out."""

import re
from functools import partial

import httpx
import pytest
from playwright.sync_api import Route
from sqlalchemy import text

from tests.support.site import PASSWORD
from tests.system.browser.web import (
    NO_LOCKS,
    REFRESH_TIMEOUT,
    USERS,
    impatient,
    login,
    newest,
    revoke,
    until,
    until_held,
    wait_for,
)

pytestmark = pytest.mark.slow


def rotate_behind(tabs):
    """Spend the access token of all tabs: another client refreshes with their cookie."""
    answer = tabs.context.request.post(f"{tabs.origin}/v1/clients/web/refresh", data={})
    assert answer.ok


def test_a_login_is_good_for_calls_and_leaves_nothing_where_a_script_could_find_it(tabs):
    tab = tabs.open()
    assert tab.evaluate("auth.signedIn") is False
    login(tab)
    assert tab.evaluate("auth.signedIn") is True
    assert tab.evaluate("auth.fetch('/v1/user').then((it) => it.json())")["email"] == USERS[0]
    found = tab.evaluate(
        """async () => [
            Object.keys(localStorage), Object.keys(sessionStorage), document.cookie,
            await indexedDB.databases(), await caches.keys(), history.state,
            Object.keys(auth).filter((key) => /token/i.test(key)),
        ]"""
    )
    assert found == [[], [], "", [], [], None, []]
    assert tab.evaluate("changes") == ["none", "login"]


@pytest.mark.control("S05")
def test_after_a_reload_the_session_comes_back_by_the_cookie_alone(tabs):
    tab = tabs.signed_in()
    tabs.forget()
    tabs.reload(tab)
    assert tab.evaluate("[auth.signedIn, changes]") == [True, ["restored"]]
    [refresh] = [request for request in tabs.sent if request.url.endswith("/refresh")]
    assert refresh.post_data == "{}"
    assert refresh.headers["content-type"] == "application/json"
    assert tab.evaluate("gets(1)") == [200]


def test_a_call_before_anything_else_waits_for_the_session(tabs):
    tab = tabs.signed_in()
    tabs.restore = False
    tabs.reload(tab)
    tabs.forget()
    assert tab.evaluate("gets(3)") == [200, 200, 200]
    assert tabs.refreshes() == 1


def test_m21_a_call_while_a_login_is_under_way_waits_for_it(tabs):
    tab = tabs.open()
    credentials = f"'{USERS[0]}', '{PASSWORD}'"
    both = "Promise.all([outcome(auth.login({})), outcome(auth.fetch('/v1/user'))])"
    [failed, answer] = tab.evaluate(both.format("'nobody@example.com', 'wrong wrong'"))
    assert (failed["code"], answer) == ("invalid_grant", 401)
    assert tab.evaluate(both.format(credentials)) == ["done", 200]


def test_twenty_calls_that_get_a_401_share_one_refresh(tabs):
    tab = tabs.signed_in()
    rotate_behind(tabs)
    tabs.forget()
    assert tab.evaluate("gets(20)") == [200] * 20
    assert tabs.refreshes() == 1
    assert tab.evaluate("changes") == ["none", "login"]


def test_what_was_posted_is_posted_again_after_a_401(tabs):
    tab = tabs.signed_in()
    bodies = []

    def note(route):
        bodies.append((route.request.method, route.request.post_data))
        route.fulfill(status=401 if len(bodies) == 1 else 200, body="")

    tabs.context.route("**/v1/note", note)
    init = "'/v1/note', { method: 'POST', body: 'a' }"
    for sent in (init, f"new Request({init})"):
        bodies.clear()
        assert tab.evaluate(f"outcome(auth.fetch({sent}))") == 200
        assert bodies == [("POST", "a")] * 2


def test_a_stream_that_was_posted_cannot_be_posted_again(tabs):
    tab = tabs.signed_in()
    tabs.context.route("**/v1/note", lambda route: route.fulfill(status=401, body=""), times=1)
    tabs.forget()
    stream = "{ method: 'POST', duplex: 'half', body: new Blob(['a']).stream() }"
    assert tab.evaluate(f"outcome(auth.fetch('/v1/note', {stream}))") == 401
    assert (len(tabs.paths("note")), tabs.refreshes()) == (1, 1)  # the next call has it easier


def test_a_401_that_a_fresh_token_gets_too_is_handed_on(tabs):
    tab = tabs.signed_in()
    tabs.context.route("**/v1/never", lambda route: route.fulfill(status=401, body=""))
    tabs.forget()
    assert tab.evaluate("outcome(auth.fetch('/v1/never'))") == 401
    assert (len(tabs.paths("never")), tabs.refreshes()) == (2, 1)
    assert tab.evaluate("auth.signedIn") is True


def test_a_revoked_session_ends_with_a_401_and_a_change(tabs, strict):
    tab = tabs.signed_in()
    revoke(strict[1])
    assert tab.evaluate("gets(2)") == [401, 401]
    assert tab.evaluate("[auth.signedIn, changes.at(-1)]") == [False, "ended"]
    tabs.forget()
    assert tab.evaluate("gets(1)") == [401]
    assert tabs.refreshes() == 0
    assert "authorization" not in tabs.sent[-1].headers


def test_logout_ends_the_session_on_the_server_and_the_way_back(tabs, strict):
    tab = tabs.signed_in()
    assert tab.evaluate("outcome(auth.logout())") == "done"
    assert tab.evaluate("[auth.signedIn, changes.at(-1)]") == [False, "logout"]
    assert newest(strict[1]).revoked_why == "logout"
    assert not [each for each in tabs.context.cookies() if each["name"] == "refreshToken"]
    tabs.reload(tab)
    assert tab.evaluate("auth.signedIn") is False


def test_logout_works_with_an_access_token_that_is_spent(tabs, strict):
    tab = tabs.signed_in()
    rotate_behind(tabs)
    assert tab.evaluate("outcome(auth.logout())") == "done"
    assert newest(strict[1]).revoked_why == "logout"


@pytest.mark.parametrize("scripts", [(), (NO_LOCKS,)], ids=["web locks", "no web locks"])
def test_a_logout_during_a_refresh_has_the_last_word(tabs, strict, scripts):
    tab = tabs.signed_in(*scripts)
    rotate_behind(tabs)
    with tabs.held("/refresh$") as waiting:
        tab.evaluate("() => { window.calls = gets(2); }")
        until_held(tab, waiting)
        tab.evaluate("() => { window.out = outcome(auth.logout()); }")
        tab.wait_for_timeout(100)
        assert not tabs.paths("/logout$")
    assert tab.evaluate("out") == "done"
    assert set(tab.evaluate("calls")) <= {200, 401}  # before or after the logout
    assert tab.evaluate("auth.signedIn") is False
    assert newest(strict[1]).revoked_why == "logout"
    tabs.reload(tab)
    assert tab.evaluate("auth.signedIn") is False


def test_a_logout_that_fails_says_so_and_leaves_the_session(tabs):
    tab = tabs.signed_in()
    tabs.context.route("**/v1/logout", lambda route: route.fulfill(status=503, json={}), times=1)
    assert tab.evaluate("outcome(auth.logout())")["status"] == 503
    assert tab.evaluate("auth.signedIn") is True
    assert tab.evaluate("outcome(auth.logout())") == "done"


TROUBLES = (
    (429, "too_many_attempts", 7),
    (503, "temporarily_unavailable", 7),
    (403, "access_denied", None),
    (401, "invalid_client", None),
    (500, "internal_error", None),
)


def test_trouble_with_a_refresh_is_told_and_keeps_the_session(tabs):
    tab = tabs.signed_in()
    rotate_behind(tabs)
    for status, code, wait in TROUBLES:
        body = {"error": code, "error_description": "words", "message": "words"}
        headers = {"Retry-After": str(wait)} if wait else {}
        answer = partial(Route.fulfill, status=status, json=body, headers=headers)
        tabs.context.route("**/refresh", answer, times=1)
        error = tab.evaluate("outcome(auth.fetch('/v1/user'))")
        assert (error["ours"], error["status"], error["code"]) == (True, status, code)
        assert error.get("retryAfter") == wait
    assert tab.evaluate("gets(1)") == [200]
    assert tab.evaluate("changes") == ["none", "login"]


def test_calls_that_wait_for_the_same_refresh_share_its_failure_too(tabs):
    tabs.restore = False
    tab = tabs.open()
    tabs.context.route("**/refresh", partial(Route.fulfill, status=503, json={}))
    assert [error["status"] for error in tab.evaluate("gets(5)")] == [503] * 5
    assert tabs.refreshes() == 1
    assert tab.evaluate("[auth.signedIn ?? null, changes]") == [None, []]


def test_being_offline_is_told_apart_and_keeps_the_session(tabs):
    tab = tabs.signed_in()
    tabs.context.set_offline(True)
    for call in ("fetch('/v1/user')", "login('a', 'b')", "logout()"):
        error = tab.evaluate(f"outcome(auth.{call})")
        assert (error["ours"], error["status"], error["code"]) == (True, 0, "network")
    tabs.context.set_offline(False)
    assert tab.evaluate("gets(1)") == [200]
    assert tab.evaluate("changes") == ["none", "login"]


def test_a_caller_that_gives_up_while_a_refresh_runs_spoils_it_for_nobody(tabs):
    tab = tabs.signed_in()
    rotate_behind(tabs)
    with tabs.held("/refresh$") as waiting:
        tab.evaluate(
            """() => {
                const giveUp = new AbortController();
                window.stop = () => giveUp.abort();
                window.hasty = outcome(auth.fetch("/v1/user", { signal: giveUp.signal }));
                window.patient = gets(1);
            }"""
        )
        until_held(tab, waiting)
        tab.evaluate("stop()")
        soon = "Promise.race([hasty, new Promise((resolve) => setTimeout(resolve, 10_000, {}))])"
        assert tab.evaluate(f"{soon}.then((it) => [it.name, it.ours])") == ["AbortError", False]
    assert tab.evaluate("patient") == [200]


def test_a_lost_answer_to_a_refresh_is_asked_for_again(graced_tabs, graced):
    tab = graced_tabs.signed_in()

    def lose(route):
        request = route.request
        assert httpx.post(
            request.url, headers=request.all_headers(), content="{}", timeout=30
        ).is_success
        route.abort()

    graced_tabs.context.route(re.compile("/refresh$"), lose, times=1)
    graced_tabs.reload(tab)
    assert tab.evaluate("auth.signedIn") is True
    assert newest(graced[1]).generation == 1


def test_leaving_the_page_in_the_middle_of_a_refresh_does_not_lose_the_session(tabs, strict):
    tab = tabs.signed_in()
    tabs.restore = False
    tabs.reload(tab)
    with strict[1].database.transactional.begin() as connection:
        connection.execute(text("UPDATE clients SET name = name"))  # the refresh waits for us
        with tab.expect_request("**/refresh"):
            tab.evaluate("() => { auth.restore(); }")
        tab.goto("about:blank")
    tab = tabs.open()
    wait_for(tab, lambda: newest(strict[1]).generation == 1)
    assert tab.evaluate("outcome(auth.restore())") is True


def test_a_refresh_that_gets_no_answer_is_given_up_and_sent_again(tabs):
    tabs.signed_in().close()
    tabs.restore = False
    tab = tabs.open(impatient(REFRESH_TIMEOUT))
    with tabs.held("/refresh$") as waiting:
        assert tab.evaluate("outcome(auth.restore())") is True
        assert waiting
        waiting.clear()
    assert tabs.refreshes() == 3


def test_a_page_from_the_back_forward_cache_asks_whether_the_session_still_lives(tabs, strict):
    tab = tabs.signed_in()
    revoke(strict[1])
    tab.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    until(tab, "auth.signedIn === false")
