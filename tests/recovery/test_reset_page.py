"""The page that a reset link opens."""

import pytest

from tests.support.pages import csrf_of

NEW = "a purple wolf at tea 77"


@pytest.fixture
def link(site):
    user = site.user()
    return {"email": user.email, "token": site.reset_token(user)}


def open_link(site, link):
    return site.http.get("/password/reset", params=link)


def test_the_new_password_is_asked_for_once(site, link):
    form = open_link(site, link).forms[0]
    assert [name for name in form.fields if name and "password" in name] == ["password"]
    form["password"] = NEW
    assert form.submit().status_int == 303
    site.login(site.client(), password=NEW)


def test_a_confirmation_that_is_sent_must_be_equal(site, link):
    fields = {**link, "csrf_token": csrf_of(open_link(site, link)), "password": NEW}
    answer = site.http.post("/password/reset", {**fields, "password_confirmation": "x"}, status=422)
    assert "The two passwords do not match." in answer.text
    site.http.post("/password/reset", {**fields, "password_confirmation": NEW}, status=303)
