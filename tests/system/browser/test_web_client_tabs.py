"""The bundled web client in several tabs: one refresh, one logout, never two users at once."""

import pytest

from tests.support.site import PASSWORD
from tests.system.browser.web import (
    LATE_NEWS,
    LOCK_TIMEOUT,
    NO_CHANNEL,
    NO_LOCKS,
    USERS,
    expire,
    impatient,
    login,
    newest,
    revoke,
    until,
    until_held,
)

pytestmark = pytest.mark.slow

WHO = "auth.fetch('/v1/user').then((it) => it.json()).then((it) => it.email)"
TELLING = pytest.mark.parametrize("scripts", [(), (NO_CHANNEL,)], ids=["channel", "storage"])
HELD = "(await navigator.locks.query()).held.length === 1"
QUEUED = "(await navigator.locks.query()).pending.length === 1"


def start_calls(page, count=10):
    """Begin calls without waiting for them; they end up in ``calls``."""
    page.evaluate("(count) => { window.calls = gets(count); }", count)


def tokens(tabs):
    """What the calls so far carried, in their order."""
    calls = [request for request in tabs.sent if request.url.endswith("/v1/user")]
    return [request.headers["authorization"] for request in calls]


def test_twenty_calls_after_expiry_share_one_refresh(graced_tabs):
    tab = graced_tabs.signed_in()
    assert tab.evaluate("gets(1)") == [200]
    [expired] = tokens(graced_tabs)
    expire(tab)
    graced_tabs.forget()
    assert tab.evaluate("gets(20)") == [200] * 20
    assert graced_tabs.refreshes() == 1
    sent = tokens(graced_tabs)
    assert len(sent) == 20
    assert len(set(sent)) == 1
    assert expired not in sent


@pytest.mark.parametrize("scripts", [(), (LATE_NEWS,)], ids=["in time", "late"])
def test_the_calls_of_two_tabs_share_one_refresh(graced_tabs, graced, scripts):
    one = graced_tabs.signed_in(*scripts)
    two = graced_tabs.open(*scripts)
    expire(one, two)
    graced_tabs.forget()
    generation = newest(graced[1]).generation
    with graced_tabs.held("/refresh$") as waiting:
        start_calls(one)
        until_held(one, waiting)
        start_calls(two)
        until(two, QUEUED)
    assert one.evaluate("calls") == [200] * 10
    assert two.evaluate("calls") == [200] * 10
    assert graced_tabs.refreshes() == 1
    assert newest(graced[1]).generation == generation + 1


def test_without_web_locks_each_tab_shares_one_refresh_and_none_is_logged_out(graced_tabs, graced):
    one = graced_tabs.signed_in(NO_LOCKS)
    two = graced_tabs.open(NO_LOCKS)
    assert one.evaluate("navigator.locks") is None
    expire(one, two)
    graced_tabs.forget()
    with graced_tabs.held("/refresh$") as waiting:
        start_calls(one)
        until_held(one, waiting)
        assert two.evaluate("gets(10)") == [200] * 10
    assert one.evaluate("calls") == [200] * 10
    assert graced_tabs.refreshes() == 2  # the second one got the same pair, by the grace
    assert newest(graced[1]).revoked_at is None


def test_two_tabs_do_not_log_each_other_out(tabs, strict):
    one = tabs.signed_in()
    two = tabs.open()
    for reloaded in (one, two, one, two):
        tabs.reload(reloaded)
        assert one.evaluate("gets(2)") == [200, 200]
        assert two.evaluate("gets(2)") == [200, 200]
    assert newest(strict[1]).revoked_at is None


def test_a_tab_that_never_gives_the_lock_back_does_not_hang_the_others(tabs):
    stuck = tabs.signed_in()
    tabs.restore = False
    other = tabs.open(impatient(LOCK_TIMEOUT))
    stuck.evaluate(
        """() => {
            const name = `authsite ${location.origin}/v1/clients/web`;
            navigator.locks.request(name, () => new Promise(() => {}));
        }"""
    )
    until(stuck, HELD)
    assert other.evaluate("gets(1)") == [200]


@TELLING
def test_a_logout_in_one_tab_shows_in_the_other(tabs, scripts):
    one = tabs.signed_in(*scripts)
    two = tabs.open(*scripts)
    assert two.evaluate("gets(1)") == [200]
    assert one.evaluate("outcome(auth.logout())") == "done"
    until(two, "auth.signedIn === false")
    assert two.evaluate("changes") == ["restored", "logout"]
    tabs.forget()
    assert two.evaluate("gets(2)") == [401, 401]
    assert tabs.refreshes() == 0


def test_without_a_channel_no_token_gets_into_the_storage(tabs):
    spy = """
        window.stored = [];
        const { setItem } = Storage.prototype;
        Storage.prototype.setItem = function (...item) {
            stored.push(item.join());
            return setItem.apply(this, item);
        };
    """
    tab = tabs.signed_in(NO_CHANNEL, spy)
    assert tab.evaluate("outcome(auth.logout())") == "done"
    stored = tab.evaluate("stored")
    assert len(stored) == 2
    assert not [item for item in stored if "at_" in item or "rt_" in item]
    assert tab.evaluate("localStorage.length") == 0


def test_a_session_that_ended_shows_in_every_tab(tabs, strict):
    one = tabs.signed_in()
    two = tabs.open()
    revoke(strict[1])
    assert one.evaluate("gets(1)") == [401]
    until(two, "auth.signedIn === false")
    assert two.evaluate("changes.at(-1)") == "ended"


@TELLING
def test_another_login_in_one_tab_is_news_for_the_other(tabs, scripts):
    one = tabs.signed_in(*scripts)
    two = tabs.open(*scripts)
    login(two, USERS[1])
    until(one, "changes.join() === 'none,login,login'")
    assert one.evaluate(WHO) == USERS[1]


def test_a_call_of_one_user_is_never_repeated_as_another(tabs):
    one = tabs.signed_in()
    two = tabs.open()
    with tabs.held("/v1/note$") as waiting:
        one.evaluate("() => { window.note = outcome(auth.fetch('/v1/note')); }")
        until_held(one, waiting)
        login(two, USERS[1])
        until(one, "changes.join() === 'none,login,login'")
        waiting.pop().fulfill(status=401, body="")
    assert one.evaluate("note") == 401
    assert len(tabs.paths("/v1/note$")) == 1


def test_a_login_waits_for_a_refresh_whose_cookie_would_overwrite_its_own(tabs):
    one = tabs.signed_in()
    two = tabs.open()
    tabs.restore = False
    tabs.reload(one)
    with tabs.held("/refresh$") as waiting:
        one.evaluate("() => { window.back = auth.restore(); }")
        until_held(one, waiting)
        two.evaluate("(it) => { window.done = auth.login(...it); }", [USERS[1], PASSWORD])
        until(two, QUEUED)
        assert len(tabs.paths("/login$")) == 1
    two.evaluate("done")
    until(one, "changes.at(-1) === 'login'")
    tabs.restore = True
    tabs.reload(two)
    assert two.evaluate(WHO) == USERS[1]
