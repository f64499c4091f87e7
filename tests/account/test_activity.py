"""The recent activity on the account page: the own events, in words for their user."""

from datetime import timedelta

from bs4 import BeautifulSoup
from sqlalchemy import select

from authsite.account.sessions import MAX_LISTED, PAGE_SIZE, list_latest
from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.service import record
from authsite.platform.runtime import clock
from tests.support.acting import acting
from tests.support.pages import sign_in
from tests.support.site import PASSWORD, WEB

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


def shown(site, **headers):
    page = BeautifulSoup(site.http.get("/account/security", headers=headers).text, "html.parser")
    items = page.select("[aria-labelledby=activity] li")
    return [" ".join(item.get_text(" ").split()) for item in items]


def test_a_user_sees_the_own_events_the_newest_first_and_nothing_of_others(site_with):
    site = site_with(**WEB)
    keys = site.first_party("web")
    site.user()
    site.user("eve@example.com")
    site.login(keys, "eve@example.com", "wrong wrong 1", status=400)
    site.login(keys, password="wrong wrong 1", status=400)
    site.login(keys)
    sign_in(site, headers={"User-Agent": FIREFOX})
    found = shown(site)
    assert [line.split(" ")[0] for line in found] == ["Signed", "Signed", "Account", "Failed"]
    assert found[0].startswith("Signed in ")
    assert "Firefox on Linux · 192.0.2.1" in found[0]
    assert found[1].startswith("Signed in with an app")
    assert "App: web" in found[1]
    assert shown(site, **{"Accept-Language": "de"})[3].startswith("Fehlgeschlagener Anmeldeversuch")


def test_equal_neighbors_are_one_line_and_attempts_never_push_off_what_was_done(site_with):
    site = site_with(**WEB)
    ann = site.user()
    keys = site.first_party("web")
    site.login(keys)
    with site.db() as db:
        for _ in range(30):
            record(acting(db), "user.changed", user_id=ann.id)
        for number in range(30):
            for event in ("login.failed", "login.failed", "recovery.requested"):
                record(acting(db, address=f"203.0.113.{number}"), event, user_id=ann.id)
    sign_in(site)
    with site.db() as db:
        found = list_latest(acting(db), ann.id)
    assert [(str(each.words), each.count) for each in found.done] == [
        ("Signed in", 1), ("Profile changed", 30), ("Signed in with an app", 1),
    ]  # fmt: skip
    assert [each.count for each in found.attempts] == [1, 2, 1]
    assert found.attempts[0].address == "203.0.113.29"
    assert PASSWORD not in str(found)
    lines = shown(site)
    assert "30 times in a row" in lines[1]
    assert "2 times in a row" in lines[4]
    assert len(lines) == 2 * MAX_LISTED == 6


def pages_of_activity(site):
    """The lines of every page of /account/activity, by its links."""
    path = "/account/activity"
    while path:
        page = site.http.get(path).html
        yield [" ".join(item.get_text(" ").split()) for item in page.select(".events li")]
        older = page.select_one("a[rel=next]")
        path = older and older["href"]


def test_the_page_of_all_activity_has_every_event_page_after_page(site):
    ann, eve = site.user(), site.user("eve@example.com")
    with site.db() as db:
        for number in range(PAGE_SIZE + 10):
            about = acting(db, address=f"203.0.113.{number}")
            record(about, "login.failed" if number % 2 else "recovery.requested", user_id=ann.id)
        record(acting(db), "user.changed", user_id=eve.id)
    sign_in(site)
    first, second = pages_of_activity(site)
    assert first[0].startswith("Signed in")
    assert len(first) == PAGE_SIZE
    assert second[-1].startswith("Account created")
    assert len(first) + len(second) == PAGE_SIZE + 12
    assert "Profile changed" not in str(first + second)
    assert 'href="/account/activity"' in site.http.get("/account/security").text


def test_a_page_of_activity_that_is_not_there_is_the_first_or_empty(site):
    site.user()
    sign_in(site)
    for number in ("0", "-1", "x", "1e3", "%D9%A3", "", "9" * 30):
        assert "Account created" in site.http.get(f"/account/activity?page={number}").text
    assert "There are no older events." in site.http.get("/account/activity?page=99").text


def test_the_events_of_a_day_are_under_its_date(site, frozen):
    site.user()
    sign_in(site)
    with site.db() as db:  # the time of an event is that of the database
        created, begun = db.scalars(select(AuditEvent).order_by(AuditEvent.id)).all()
        created.at, begun.at = clock.now() - timedelta(days=3), clock.now()
    section = site.http.get("/account/security").html.select_one("[aria-labelledby=activity]")
    assert [day.text for day in section.select("h3")] == ["Today", "May 14, 2031"]


def test_an_export_says_whether_the_user_or_an_administrator_asked(site):
    ann = site.user()
    with site.db() as db:
        for details in (None, {"by": "administrator"}, {"by": "user"}):
            record(acting(db), "user.exported", user_id=ann.id, details=details)
    sign_in(site)
    words = shown(site)
    assert words[1].startswith("Data of the account downloaded")
    assert "Data of the account exported by an administrator" in shown(site)[2]
    assert "2 times in a row" in shown(site)[2]
