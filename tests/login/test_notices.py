"""Notices by mail: a sign-in from a new device and its link, failed logins, a copied token."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine, event

from authsite.audit.models import AuditEvent
from authsite.audit.service import record
from authsite.login.notices import LINK_LIFETIME
from authsite.users import service as users
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.mails import html_of, link_in, text_of
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, WEB, bearer

HOME = "192.0.2.1"
HEADERS = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"}
NEW = "purple wolf 77 tea"


@pytest.fixture
def site(site_with, frozen):
    """A site with limits, and Ann, who has logged in at home before."""
    made = site_with(limits="on", **WEB)
    made.keys = made.first_party("web")
    made.ann = made.user(confirmed=True)
    made.login(made.keys)
    assert made.mails() == []  # the first login is no notice
    yield made
    made.http.extra_environ["REMOTE_ADDR"] = HOME


def arrive(site, address="203.0.113.9"):
    """Sign in with a browser that was never here, from ``address``; the mails that come of it."""
    site.http.reset()
    site.http.extra_environ["REMOTE_ADDR"] = address
    sign_in(site, headers=HEADERS)
    return site.mails()


def press(site, link):
    site.http.reset()
    return submit(site, "/login/not-me", page="/login", token=link.partition("?token=")[2])


def use(site, cookies):
    """Be the browser with these cookies."""
    site.http.reset()
    for name, value in cookies.items():
        site.http.set_cookie(name, value)


def reset(site):
    """Reset Ann's password with a mailed link."""
    form = {"email": "ann@example.com", "token": site.reset_token(site.ann), "password": NEW}
    site.http.post_json("/v1/password/reset", form, status=200)


def token_sign_in(site, address="203.0.113.9"):
    site.http.reset()
    return site.try_login(site.keys, PASSWORD, address=address).json


def events(site, name):
    with site.db() as db:
        return db.query(AuditEvent).filter_by(event=name).all()


def test_a_new_device_is_one_mail_with_a_link_and_a_known_one_is_none(site):
    [mail] = arrive(site)
    assert mail["To"] == "ann@example.com"
    for content in (text_of(mail), html_of(mail)):
        assert "Firefox, Linux" in content
        assert "203.0.113.9" in content
    assert link_in(mail).startswith("http://localhost/login/not-me?token=")
    sign_in_again = submit(site, "/logout")
    assert sign_in_again.status_int == 303
    sign_in(site)  # the same browser
    assert site.mails() == []
    site.http.reset()
    sign_in(site)  # another one at the same address
    assert site.mails() == []
    assert [each["Subject"] for each in arrive(site, "203.0.113.10")] == [mail["Subject"]]
    assert token_sign_in(site, "203.0.113.11")["access_token"]
    assert len(site.mails()) == 1


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
    assert opened.forms[0]["token"].value == link.partition("?token=")[2]
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
        link = f"http://localhost/login/not-me?token={token}"
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


def test_notices_go_to_confirmed_addresses_only_and_five_a_day(site, site_with, frozen):
    site.user("eve@example.com")
    for number in range(3):
        site.try_login(
            site.keys, PASSWORD, username="eve@example.com", address=f"198.51.100.{number}"
        )
    assert site.mails() == []
    got = [len(arrive(site, f"203.0.113.{number}")) for number in range(20, 27)]
    assert got == [1] * 5 + [0] * 2
    off = site_with(limits="on", new_device_notices="off", **WEB)
    off.user(confirmed=True)
    sign_in(off)
    assert arrive(off) == []


@pytest.mark.parametrize("days", [0, 4000])
def test_the_first_login_of_an_imported_account_is_no_notice_however_old(site, frozen, days):
    bob = site.user("bob@example.com", confirmed=True)
    with site.db() as db:
        db.get(User, bob.id).created_at -= timedelta(days=days)

    def login(address):
        site.try_login(site.keys, PASSWORD, username="bob@example.com", address=address)
        return [mail["To"] for mail in site.mails()]

    assert login("198.51.100.1") == []
    assert login("198.51.100.2") == ["bob@example.com"]


def test_without_the_creation_in_the_trail_a_login_is_a_notice(site, frozen):
    bob = site.user("bob@example.com", confirmed=True)
    with site.db() as db:
        db.query(AuditEvent).filter_by(user_id=bob.id).delete()
    site.try_login(site.keys, PASSWORD, username="bob@example.com", address="198.51.100.1")
    assert [mail["To"] for mail in site.mails()] == ["bob@example.com"]


def test_failed_logins_are_one_mail_a_day_and_cost_the_same_for_an_unknown_name(site, frozen):
    def fail(name):
        for _ in range(6):
            site.try_login(site.keys, username=name)
        with site.db() as db:
            rows = db.connection().exec_driver_sql(
                "SELECT address FROM outbox WHERE letter = 'failed_logins'"
            )
            return sorted(address for (address,) in rows)

    assert fail("stranger@example.com") == ["nobody@example.invalid"]
    assert fail("ann@example.com") == ["ann@example.com", "nobody@example.invalid"]
    [mail] = site.mails()
    assert link_in(mail) == "http://localhost/password/forgot"
    frozen.advance(4 * 3600)
    fail("ann@example.com")
    assert site.mails() == []


def test_a_copied_refresh_token_is_one_mail_that_names_the_app(site, frozen):
    first = site.login(site.keys)["refresh_token"]
    second = site.refresh(site.keys, first)["refresh_token"]
    site.refresh(site.keys, second)
    frozen.advance(60)
    for _ in range(3):
        site.refresh(site.keys, first, status=400)
    [mail] = site.mails()
    assert mail["To"] == "ann@example.com"
    assert "“web”" in text_of(mail)
    assert link_in(mail) == "http://localhost/password/forgot"
