"""A successful login gives back its count at the client address."""

import pytest

from tests.factor_pages.people import add_app
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD

FEW = {"limits": "on", "limits_storage": "database", "limits.login-address": "3/minute"}


def at_login(site, password=PASSWORD, **fields):
    site.new_browser()
    return submit(site, "/login", username="ann@example.com", password=password, **fields)


@pytest.mark.both_databases
def test_many_users_sign_in_at_one_address(site_with):
    site = site_with(**FEW)
    for number in range(6):
        site.user(f"user{number}@example.com")
        site.new_browser()
        assert sign_in(site, f"user{number}@example.com").status_int == 303


def test_so_do_programs(site_with):
    site = site_with(**FEW)
    site.user()
    keys = site.client()
    for _ in range(6):
        site.login(keys)


def test_a_failed_one_gives_nothing_back(site_with):
    site = site_with(**FEW)
    site.user()
    for _ in range(3):
        at_login(site)
        assert at_login(site, "wrong").status_int in (422, 429)
    assert at_login(site, "wrong").status_int == 429
    assert at_login(site).status_int == 429


def test_a_login_that_waits_for_its_second_step_counts_until_then(site_with, frozen):
    site = site_with(**FEW)
    ann = site.user(confirmed=True)
    phone, _codes = add_app(site, ann)
    for _ in range(2):
        at_login(site)  # the password is right, and no more comes
    assert at_login(site).status_int == 303
    page = site.http.get("/login/factor")
    form = {"csrf_token": csrf_of(page), "method": "totp", "code": phone.code()}
    assert site.http.post("/login/factor", form).status_int == 303
    assert at_login(site).status_int == 303
    assert at_login(site).status_int == 429
