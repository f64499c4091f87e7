"""The recent activity on the account page: the own events, in words for their user."""

from bs4 import BeautifulSoup

from authsite.account.activity import MAX_LISTED, list_latest
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
    assert [line.split(" ")[0] for line in found] == ["Signed", "Signed", "Failed", "Account"]
    assert found[0].startswith("Signed in ")
    assert "Firefox on Linux IP address 192.0.2.1" in found[0]
    assert found[1].startswith("Signed in with an app")
    assert "App: web" in found[1]
    assert shown(site, **{"Accept-Language": "de"})[2].startswith("Fehlgeschlagener Anmeldeversuch")


def test_only_the_latest_are_read(site):
    ann = site.user()
    keys = site.client()
    for _ in range(MAX_LISTED + 2):
        site.login(keys)
    with site.db() as db:
        found = list_latest(acting(db), ann.id)
    assert len(found) == MAX_LISTED
    assert [each.at for each in found] == sorted((each.at for each in found), reverse=True)
    assert PASSWORD not in str(found)
