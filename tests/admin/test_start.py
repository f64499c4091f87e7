"""The first page of the console, its navigation, and who may open it."""

import pytest

from authsite.admin.start import service
from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from authsite.users.account import PASSWORD
from tests.step_up.people import enter
from tests.support import administrators


def numbers(page):
    names = [each.text for each in page.html.select(".numbers dt")]
    return dict(zip(names, [each.text for each in page.html.select(".numbers dd")], strict=True))


def test_the_page_shows_the_numbers_of_a_day(site):
    administrators.signed_in(site, "viewer")
    with site.db() as db:
        db.add_all(AuditEvent(at=clock.now(), event="login.failed") for _ in range(3))
        db.add(AuditEvent(at=clock.now(), event="login.locked"))
        db.add(AuditEvent(at=clock.now() - service.DAY, event="login.locked"))
    page = site.http.get("/admin", status=200)
    assert numbers(page) == {
        "Sign-ins": "1",
        "Failed attempts": "3",
        "Lockouts": "1",
        "Mails that failed for good": "0",
    }
    assert page.headers["Cache-Control"] == "no-store"


def test_more_than_a_thousand_are_not_counted(site):
    administrators.signed_in(site, "viewer")
    with site.db() as db:
        db.add_all(AuditEvent(at=clock.now(), event="login.failed") for _ in range(1001))
    assert numbers(site.http.get("/admin"))["Failed attempts"] == "1,000+"


def test_the_navigation_has_what_there_is_and_the_administrator_may_read(site):
    administrators.signed_in(site, "viewer")
    links = site.http.get("/admin").html.select("nav.places a")
    assert (links[0].text, links[0]["aria-current"]) == ("Overview", "page")
    titles = [link.text for link in links]
    assert "Settings" not in titles  # a viewer may not read them
    for link in links:
        site.http.get(link["href"], status=200)


def test_what_doctor_finds_is_shown(site):
    administrators.signed_in(site, "viewer")
    page = site.http.get("/admin", status=200)
    said = page.html.find("section", {"aria-labelledby": "problems"})
    assert "clients.web.id" in said.text  # no client is registered for it
    assert said.a["href"] == "/admin/health"


def test_others_do_not_see_it(site):
    site.user("ann@example.com", confirmed=True)
    enter(site, *administrators.STRONG)
    site.http.get("/admin", status=403)
    site.new_browser()
    assert "/login?" in site.http.get("/admin", status=302).location


def test_a_password_alone_leads_to_the_step_up_and_back(site):
    administrators.make(site, "owner")
    enter(site, *PASSWORD, email="root@example.com")
    location = site.http.get("/admin", status=302).location
    assert "/login/verify?next=%2Fadmin&acr_values=aal2" in location


@pytest.mark.parametrize("settings", [{}, {"admin_console": "off", "admin_api": "on"}])
def test_without_the_console_there_is_no_page(site_with, settings):
    site = site_with(**settings)
    administrators.signed_in(site, "owner")
    site.http.get("/admin", status=404)
