"""A second factor after a sign-in with a provider, and the browser that is not asked again."""

from sqlalchemy import select

from authsite.sign_in.credentials import amr_of
from authsite.sign_in.sessions.models import BrowserSession
from tests.factor_pages.people import add_app
from tests.providers.people import arrive, come_back, send, users
from tests.support.pages import submit


def test_the_factor_is_asked_for_once(site_of, google):
    site = site_of(google)
    assert send(arrive(site, google), "/create").status_int == 303
    [ann] = users(site)
    phone, _codes = add_app(site, ann)
    site.http.reset()
    assert come_back(site, google).location == "http://localhost/login/factor"
    form = {"method": "totp", "code": phone.code(), "remember_browser": "1"}
    assert submit(site, "/login/factor", **form).status_int == 303
    submit(site, "/logout")
    assert come_back(site, google).location == "http://localhost/account"
    with site.db() as db:
        found = {amr_of(each) for each in db.scalars(select(BrowserSession.facts))}
    assert ("idp", "undated", "device") in found
    site.new_browser()
    assert come_back(site, google).location == "http://localhost/login/factor"
