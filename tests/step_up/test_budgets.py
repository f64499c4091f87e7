"""Wrong codes of a step-up count under the sign-in, not at the owner's next login."""

from sqlalchemy import select

from authsite.sign_in.methods.totp.models import TotpFactor
from tests.support.pages import csrf_of
from tests.support.site import PASSWORD

from .people import asked_at, enter, fields, give


def failures(site):
    with site.db() as db:
        return db.scalars(select(TotpFactor.failures)).one()


def test_a_stolen_session_locks_neither_the_app_nor_the_login(site):
    enter(site, "pwd")
    page = asked_at(site, "/strong")
    assert fields(page) == {"code"}
    statuses = [give(page, "*", code=site.phone.wrong()).status_int for _ in range(7)]
    assert statuses == [422] * 5 + [429] * 2
    assert failures(site) == 0
    site.new_browser()
    site.http.extra_environ["REMOTE_ADDR"] = "198.51.100.7"
    page = site.http.get("/login")
    form = {"csrf_token": csrf_of(page), "username": "ann@example.com", "password": PASSWORD}
    site.http.post("/login", form, status=303)
    page = site.http.get("/login/factor")
    form = {"csrf_token": csrf_of(page), "method": "totp", "code": site.phone.code()}
    assert site.http.post("/login/factor", form, status="*").status_int == 303


def test_a_wrong_code_of_a_login_still_counts_for_the_app(site):
    page = site.http.get("/login")
    form = {"csrf_token": csrf_of(page), "username": "ann@example.com", "password": PASSWORD}
    site.http.post("/login", form, status=303)
    page = site.http.get("/login/factor")
    form = {"csrf_token": csrf_of(page), "method": "totp", "code": site.phone.wrong()}
    site.http.post("/login/factor", form, status=422)
    assert failures(site) == 1
