"""The bundled web client in several tabs: one refresh, one logout, never two users at once."""

import pytest

from authsite import clock
from authsite.oauth import families
from tests.browser.web import (
    LATE_NEWS,
    NO_CHANNEL,
    NO_LOCKS,
    USERS,
    Tabs,
    login,
    newest,
    until,
    web_server,
)

pytestmark = pytest.mark.slow

WHO = "auth.fetch('/v1/user').then((it) => it.json()).then((it) => it.email)"


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Access tokens that live for two seconds."""
    with web_server(tmp_path_factory.mktemp("quick"), expires_in="2s") as served:
        yield served


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """Tokens for an hour, and no grace: a refresh too many ends the session."""
    with web_server(
        tmp_path_factory.mktemp("strict"), expires_in="60m", refresh_grace="0s"
    ) as served:
        yield served


@pytest.fixture
def tabs(new_context, strict):
    return Tabs(new_context(), strict[0])


@pytest.fixture
def quick_tabs(new_context, quick):
    return Tabs(new_context(), quick[0])


def let_expire(page):
    """Two seconds are the life of a token here, and whole seconds are what it is counted in."""
    page.wait_for_timeout(3_000)


def start_calls(page, count=10):
    """Begin calls without waiting for them; they end up in ``calls``."""
    page.evaluate("(count) => { window.calls = gets(count); }", count)


def test_twenty_calls_after_expiry_share_one_refresh(quick_tabs):
    tab = quick_tabs.signed_in()
    let_expire(tab)
    quick_tabs.forget()
    assert tab.evaluate("gets(20)") == [200] * 20
    assert quick_tabs.refreshes() == 1
    assert len(quick_tabs.paths("/v1/user$")) == 20  # none was sent with the dead token


def test_without_web_locks_the_calls_of_a_tab_share_one_refresh_too(quick_tabs):
    tab = quick_tabs.signed_in(NO_LOCKS)
    let_expire(tab)
    quick_tabs.forget()
    assert tab.evaluate("navigator.locks") is None
    assert tab.evaluate("gets(20)") == [200] * 20
    assert quick_tabs.refreshes() == 1


@pytest.mark.parametrize("news", ["in time", "late"])
def test_the_calls_of_two_tabs_share_one_refresh(quick_tabs, quick, news):
    scripts = [LATE_NEWS] if news == "late" else []
    one = quick_tabs.signed_in(*scripts)
    two = quick_tabs.open(*scripts)
    let_expire(one)
    quick_tabs.forget()
    generation = newest(quick[1]).generation
    with quick_tabs.held("/refresh$") as waiting:
        start_calls(one)
        until(one, "(await navigator.locks.query()).held.length === 1")
        start_calls(two)
        until(two, "(await navigator.locks.query()).pending.length === 1")
        assert waiting
    assert one.evaluate("calls") == [200] * 10
    assert two.evaluate("calls") == [200] * 10
    assert quick_tabs.refreshes() == 1
    assert newest(quick[1]).generation == generation + 1


def test_two_tabs_do_not_log_each_other_out(tabs, strict):
    one = tabs.signed_in()
    two = tabs.open()
    assert two.evaluate("changes") == ["restored"]
    for _ in range(3):
        for tab in (one, two):
            tabs.reload(tab)
            assert one.evaluate("gets(2)") == [200, 200]
            assert two.evaluate("gets(2)") == [200, 200]
    assert newest(strict[1]).revoked_at is None


def test_without_web_locks_two_tabs_at_once_stay_signed_in(quick_tabs, quick):
    one = quick_tabs.signed_in(NO_LOCKS)
    two = quick_tabs.open(NO_LOCKS)
    let_expire(one)
    quick_tabs.forget()
    with quick_tabs.held("/refresh$"):
        start_calls(one)
        until(one, "true")
        assert two.evaluate("gets(10)") == [200] * 10
    assert one.evaluate("calls") == [200] * 10
    assert quick_tabs.refreshes() == 2  # the second one got the same pair, by the grace
    assert newest(quick[1]).revoked_at is None


def test_a_tab_that_hangs_while_it_refreshes_does_not_hang_the_others(tabs):
    one = tabs.signed_in()
    two = tabs.open()
    with tabs.held("/refresh$"):
        tabs.start(one) if False else one.evaluate("() => { window.back = auth.restore(); }")
        assert two.evaluate("gets(1)") == [200]


@pytest.mark.parametrize("scripts", [(), (NO_CHANNEL,)], ids=["channel", "storage"])
def test_a_logout_in_one_tab_shows_in_the_other(tabs, scripts):
    one = tabs.signed_in(*scripts)
    two = tabs.open(*scripts)
    assert two.evaluate("gets(1)") == [200]
    one.evaluate("auth.logout()")
    until(two, "auth.signedIn === false")
    assert two.evaluate("changes") == ["restored", "logout"]
    tabs.forget()
    assert two.evaluate("gets(2)") == [401, 401]
    assert tabs.refreshes() == 0
    assert two.evaluate("localStorage.length") == 0


def test_without_a_channel_no_token_ever_gets_into_the_storage(tabs):
    spy = """
        window.stored = [];
        const { setItem } = Storage.prototype;
        Storage.prototype.setItem = function (...item) {
            stored.push(item.join());
            return setItem.apply(this, item);
        };
    """
    tab = tabs.signed_in(NO_CHANNEL, spy)
    tab.evaluate("auth.logout()")
    stored = tab.evaluate("stored")
    assert len(stored) == 2
    assert not [item for item in stored if "at_" in item or "rt_" in item]


def test_a_session_that_ended_shows_in_every_tab(tabs, strict):
    one = tabs.signed_in()
    two = tabs.open()
    with strict[1].db() as db:
        families.revoke(db, clock.now(), newest(strict[1]).id, "test")
    assert one.evaluate("gets(1)") == [401]
    until(two, "auth.signedIn === false")
    assert two.evaluate("changes.at(-1)") == "ended"


@pytest.mark.parametrize("scripts", [(), (NO_CHANNEL,)], ids=["channel", "storage"])
def test_another_login_in_one_tab_is_news_for_the_other(tabs, scripts):
    one = tabs.signed_in(*scripts)
    two = tabs.open(*scripts)
    login(two, USERS[1])
    until(one, "changes.at(-1) === 'login' && changes.length === 3")
    assert one.evaluate(WHO) == USERS[1]


def test_a_call_of_one_user_is_never_repeated_as_another(tabs):
    one = tabs.signed_in()
    two = tabs.open()
    tokens = []

    def note(route):
        tokens.append(route.request.headers.get("authorization"))
        login(two, USERS[1])
        until(one, "changes.at(-1) === 'login'")
        route.fulfill(status=401, body="")

    with tabs.held("/v1/note$") as waiting:
        one.evaluate("() => { window.note = outcome(auth.fetch('/v1/note')); }")
        until(one, "performance.now() > 0")
        login(two, USERS[1])
        until(one, "changes.length === 3")
        [route] = waiting
        waiting.clear()
        route.fulfill(status=401, body="")
    assert one.evaluate("note") == 401
    assert len(tabs.paths("/v1/note$")) == 1


def test_a_login_waits_for_a_refresh_whose_cookie_would_overwrite_its_own(tabs):
    one = tabs.signed_in()
    two = tabs.open()
    tabs.restore = False
    tabs.reload(one)
    with tabs.held("/refresh$"):
        one.evaluate("() => { window.back = auth.restore(); }")
        until(one, "(await navigator.locks.query()).held.length === 1")
        two.evaluate("() => { window.done = auth.login('bob@example.com', 'correct horse battery'); }")
        until(two, "(await navigator.locks.query()).pending.length === 1")
    two.evaluate("done")
    until(one, "changes.at(-1) === 'login'")
    tabs.restore = True
    tabs.reload(two)
    assert two.evaluate(WHO) == USERS[1]
