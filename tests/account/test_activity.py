"""The recent activity on the account page: the own events, in words for their user."""

from bs4 import BeautifulSoup

from authsite.account.activity import MAX_LISTED, list_latest
from authsite.audit.service import record
from tests.support.acting import acting
from tests.support.pages import sign_in
from tests.support.site import PASSWORD, WEB

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


def shown(site, **headers):
    page = BeautifulSoup(site.http.get("/account", headers=headers).text, "html.parser")
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
    assert "Firefox on Linux IP address 192.0.2.1" in found[0]
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
            for event in ("login.failed", "login.failed", "recovery.asked"):
                record(acting(db, address=f"203.0.113.{number}"), event, user_id=ann.id)
    sign_in(site)
    with site.db() as db:
        found = list_latest(acting(db), ann.id)
    assert [(str(each.words), each.count) for each in found.done] == [
        ("Signed in", 1), ("Profile changed", 30), ("Signed in with an app", 1),
        ("Account created", 1),
    ]  # fmt: skip
    assert [each.count for each in found.attempts] == [1, 2] * (MAX_LISTED // 2)
    assert found.attempts[0].address == "203.0.113.29"
    assert PASSWORD not in str(found)
    lines = shown(site)
    assert "30 times in a row" in lines[1]
    assert "2 times in a row" in lines[5]
    assert len(lines) == 4 + MAX_LISTED
