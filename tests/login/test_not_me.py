"""The link "This was not me" of a notice: what it ends, and when it has ended itself."""

import pytest
from sqlalchemy import Engine, event

from authsite.audit.service import record
from authsite.login.notices import LINK_LIFETIME
from authsite.users import service as users
from tests.support.acting import acting
from tests.support.mails import link_in, text_of, token_in
from tests.support.notices import HOME, arrive, events, press, site_of_ann, token_sign_in, use
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, bearer

NEW = "purple wolf 77 tea"


@pytest.fixture
def site(site_with, frozen):
    yield from site_of_ann(site_with)


def reset(site):
    """Reset Ann's password with a mailed link."""
    form = {"email": "ann@example.com", "token": site.reset_token(site.ann), "password": NEW}
    site.http.post_json("/v1/password/reset", form, status=200)


def test_the_link_ends_all_sign_ins_once_and_leads_to_the_reset(site, frozen):
    site.http.reset()
    sign_in(site)  # at home
    browsers = [dict(site.http.cookies)]
    [mail] = arrive(site)
    browsers.append(dict(site.http.cookies))
    assert arrive(site) == []  # the intruder again, in another browser: no second notice
    browsers.append(dict(site.http.cookies))
    tokens = token_sign_in(site)
    use(site, browsers[1])
    create = {"page": "/account", "name": "backup", "current_password": PASSWORD}
    submit(site, "/account/tokens", **create)
    assert len(events(site, "token.created")) == 1
    frozen.advance(60)
    link = link_in(mail)
    site.http.reset()
    opened = site.http.get(link, status=200)
    assert "ann@example.com" not in opened.text
    assert opened.forms[0].action == "/login/not-me"
    assert opened.forms[0]["token"].value == token_in(link)
    done = press(site, link)
    assert (done.status_int, "/password/forgot" in done.text) == (200, True)
    assert [event.user_id for event in events(site, "login.disowned")] == [site.ann.id]
    for cookies in browsers:
        use(site, cookies)
        site.http.get("/account", status=302)
    site.http.reset()
    site.http.get("/v1/user", headers=bearer(tokens["access_token"]), status=401)
    assert press(site, link).status_int == 403  # it is used
    assert len(events(site, "login.disowned")) == 1


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)  # SQLite has one writer
def test_of_two_requests_with_the_link_only_one_uses_it(site, frozen):
    [mail] = arrive(site)
    began, first = [], []

    def use_before(_connection, _cursor, statement, *_rest):
        if statement.startswith("UPDATE users") and not began:
            began.append(statement)
            first.append(press(site, link_in(mail)).status_int)

    event.listen(Engine, "before_cursor_execute", use_before)
    try:
        assert press(site, link_in(mail)).status_int == 403
    finally:
        event.remove(Engine, "before_cursor_execute", use_before)
    assert first == [200]
    assert len(events(site, "login.disowned")) == 1


def test_after_the_link_the_next_login_is_a_notice_again(site, frozen):
    [mail] = arrive(site)
    intruder = dict(site.http.cookies)
    arrive(site)  # the address is recognized
    use(site, intruder)
    site.http.extra_environ["REMOTE_ADDR"] = "203.0.113.77"
    submit(site, "/logout")
    sign_in(site)  # the browser is
    frozen.advance(60)
    assert site.mails() == []
    assert press(site, link_in(mail)).status_int == 200
    frozen.advance(60)
    links = []
    for cookies, address in (
        ({}, "203.0.113.9"), ({}, "203.0.113.77"), (intruder, "203.0.113.78")
    ):  # fmt: skip
        use(site, cookies)
        site.http.extra_environ["REMOTE_ADDR"] = address
        sign_in(site)
        links += [link_in(each) for each in site.mails()]
    assert len(links) == 3
    frozen.advance(60)
    assert press(site, links[0]).status_int == 200  # a link for each of them
    assert arrive(site, HOME) != []


def test_the_link_of_an_app_ends_its_tokens(site):
    tokens = token_sign_in(site)
    [mail] = site.mails()
    site.http.get("/v1/user", headers=bearer(tokens["access_token"]), status=200)
    assert press(site, link_in(mail)).status_int == 200
    site.http.get("/v1/user", headers=bearer(tokens["access_token"]), status=401)
    site.refresh(site.keys, tokens["refresh_token"], status=400)


def test_the_link_stays_when_the_intruder_signs_out_or_changes_the_password(site, frozen):
    [mail] = arrive(site)
    submit(site, "/logout")
    arrive(site)
    frozen.advance(60)
    changed = submit(site, "/account/password", page="/account",
                     current_password=PASSWORD, password=NEW)  # fmt: skip
    assert changed.status_int == 303
    intruder = dict(site.http.cookies)
    assert press(site, link_in(mail)).status_int == 200
    use(site, intruder)
    site.http.get("/account", status=302)


@pytest.mark.parametrize("ended", ["reset", "expired", "forged", "another purpose", "disabled"])
def test_a_link_that_does_not_fit_does_nothing(site, frozen, ended):
    [mail] = arrive(site)
    link = link_in(mail)
    frozen.advance(60)
    if ended == "reset":
        reset(site)
    elif ended == "expired":
        frozen.advance(LINK_LIFETIME.total_seconds())
    elif ended == "forged":
        link = link[:-6] + ("AAAAAA" if link[-6:] != "AAAAAA" else "BBBBBB")
    elif ended == "another purpose":
        token = site.reset_token(site.ann)
        link = f"http://localhost/login/not-me/{token}"
    else:
        with site.db() as db:
            users.disable(acting(db), users.find(db, "ann@example.com"))
    site.http.reset()
    refused = site.http.get(link, status=403)
    assert "ann@example.com" not in refused.text
    assert press(site, link).status_int == 403
    assert events(site, "login.disowned") == []


def move(site):
    with site.db() as db:
        record(acting(db), "email.changed", user_id=site.ann.id)


def test_a_reset_after_a_change_of_address_does_not_end_the_link(site, frozen):
    [mail] = arrive(site)
    link = link_in(mail)
    frozen.advance(60)
    move(site)
    reset(site)  # the mail may have gone to the intruder
    assert press(site, link).status_int == 200


@pytest.mark.parametrize("through", ["browser", "app"])
def test_a_link_is_of_the_login_however_late_its_mail_is_sent(site, frozen, through):
    site.http.reset()
    site.http.extra_environ["REMOTE_ADDR"] = "203.0.113.9"
    if through == "browser":
        sign_in(site)
    else:
        token_sign_in(site)
    move(site)  # before the mail server answers
    [mail] = site.mails()
    reset(site)  # the mail may have gone to the intruder
    assert press(site, link_in(mail)).status_int == 200


def test_a_change_of_address_after_a_reset_does_not_revive_the_link(site, frozen):
    [mail] = arrive(site)
    reset(site)
    move(site)
    assert press(site, link_in(mail)).status_int == 403


def test_a_notice_of_a_sign_in_that_has_ended_has_a_link_that_works(site, frozen):
    site.http.reset()
    site.http.extra_environ["REMOTE_ADDR"] = "203.0.113.9"
    sign_in(site)
    submit(site, "/logout")
    [mail] = site.mails()
    assert "203.0.113.9" not in text_of(mail)
    assert press(site, link_in(mail)).status_int == 200
