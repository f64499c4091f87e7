"""Sign in by mail: `email-sign-in`."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import update
from webtest import TestApp

from authsite.platform.crypto.keys import KeyRing
from authsite.platform.mail.outbox import OutboxMessage
from authsite.sign_in.methods.mail_code import codes
from authsite.sign_in.pending import PendingLogin
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.sign_in.two_steps import add_second_step
from tests.support.pages import sign_in, submit
from tests.support.site import SECRET
from tests.support.statements import counted

from .conftest import (
    COOKIE,
    add_step,
    amrs,
    code_in,
    failures,
    plant,
    prove,
    request_code,
    rows,
)


def add_word(config):
    """Users have a second factor, too: a word."""
    add_second_step(config)
    add_step(config)


@pytest.fixture
def site(by_mail):
    return by_mail()


_CHANGING = re.compile(r"(?<==)[\w-]{30,}|expires=[^;]*")


def change_ann(site, **values):
    with site.db() as db:
        db.execute(update(User).where(User.id == site.ann.id).values(**values))


@pytest.mark.both_databases
def test_the_code_signs_in_once_and_in_that_browser_only(site):
    request_code(site, remember="1", next="/account/security")
    [mail] = site.mails()
    assert mail["To"] == "ann@example.com"
    code, cookie = code_in(mail), site.http.cookies[COOKIE]
    site.new_browser()  # without the pending login the code opens nothing
    assert prove(site, code).status_int == 410
    request_code(site)
    assert prove(site, code).status_int == 422  # nor with another one
    plant(site, cookie)
    answered = prove(site, code)
    assert answered.status_int == 303
    assert answered.headers["Location"] == "http://localhost/account/security"
    [session] = rows(site, BrowserSession)
    assert amrs(site) == [("email",)]
    assert session.remember
    plant(site, cookie)
    assert prove(site, code).status_int == 410
    assert len(rows(site, BrowserSession)) == 1


@pytest.mark.parametrize(
    "spell",
    [str.lower, lambda code: code.replace("-", ""), lambda code: f" {code[:2]} {code[2:]} "],
)
def test_case_blanks_and_hyphens_do_not_matter(site, spell):
    request_code(site)
    assert prove(site, spell(code_in(site.mails()[0]))).status_int == 303


@pytest.mark.parametrize(
    "typed", ["", "WDJB-MJH", "B" * 100_000, "ＢＣＤＦ-ＧＨＪＫ", "BCDF-GHJK-L", "\u0130\0"]
)
def test_what_is_no_code_is_wrong(site, typed):
    request_code(site)
    assert prove(site, typed).status_int == 422
    [(user, details)] = failures(site)
    assert (user, details) == (site.ann.id, {"method": "email", "reason": "invalid_code"})


def test_codes_consist_of_eight_consonants_and_differ(by_mail):
    site, made = by_mail(**{"limits.email-code-address": "30/hour"}), set()
    for _ in range(30):
        request_code(site)
    keys = site.app.registry["authsite"].keys
    for row in rows(site):
        code = codes.code_of(keys, row.id)
        assert re.fullmatch(f"[{codes.ALPHABET}]{{4}}-[{codes.ALPHABET}]{{4}}", code)
        made.add(code)
    assert len(made) == 30
    assert len(codes.ALPHABET) == 20
    assert not set(codes.ALPHABET) & set("AEIOUY0123456789")


def test_nothing_stored_has_the_code(site, caplog):
    request_code(site)
    with site.db() as db:
        stored = str([vars(row) for row in db.query(OutboxMessage)])
        stored += str([vars(row) for row in db.query(PendingLogin)])
    code = code_in(site.mails()[0])
    prove(site, "BBBB-BBBB")
    prove(site, code)
    with site.db() as db:
        stored += str([vars(row) for row in db.query(OutboxMessage)])
    for text in (stored, caplog.text, str(failures(site))):
        for secret in (code, code.replace("-", "")):
            assert secret not in text


def test_it_works_for_ten_minutes(site, frozen):
    request_code(site)
    code = code_in(site.mails()[0])
    frozen.advance(599)
    assert prove(site, "BBBB-BBBB").status_int == 422
    frozen.advance(2)
    assert prove(site, code).status_int == 410


def test_a_mail_that_is_late_is_not_sent(site, frozen):
    request_code(site)
    frozen.advance(601)
    assert site.mails() == []


def test_five_wrong_codes_end_it(by_mail):
    site = by_mail(limits="off")
    request_code(site)
    code = code_in(site.mails()[0])
    assert [prove(site, "BBBB-BBBB").status_int for _ in range(5)] == [422] * 5
    assert prove(site, code).status_int == 410


@pytest.mark.parametrize("username", ["ann@example.com", "nobody@example.com"])
def test_wrong_codes_are_counted_over_pending_logins_alike_for_all_names(site, username):
    statuses = []
    for _ in range(2):
        request_code(site, username)
        statuses += [prove(site, "BBBB-BBBB").status_int for _ in range(4)]
        site.new_browser()
    assert statuses == [422] * 5 + [429] * 3


def test_codes_that_were_guessed_do_not_keep_the_owner_out(by_mail):
    """An attacker without the password does not lock the user out, who knows it."""
    site = by_mail(unrecognized_login="code")
    for _ in range(2):
        request_code(site)
        for _ in range(4):
            prove(site, "BBBB-BBBB")
        site.new_browser()
    site.mails()
    sign_in(site)
    assert prove(site, code_in(site.mails()[0])).status_int == 303


@pytest.mark.parametrize("state", ["unknown", "disabled", "username", "no name"])
def test_the_answer_is_the_same_for_a_name_of_no_user(site, state):
    def shape(answered):
        headers = [
            (name, value)
            for name, value in answered.headers.items()
            if name.lower() not in ("date", "x-request-id")
        ]
        hidden = [(name, re.sub(_CHANGING, "", value)) for name, value in headers]
        return answered.status_int, answered.body, hidden, len(str(headers))

    known = shape(request_code(site))
    site.mails()
    [former] = rows(site)
    site.new_browser()
    name = "ann@example.com"
    if state == "disabled":
        change_ann(site, disabled_at=site.ann.created_at)
    else:
        names = {"unknown": "ben@example.com", "username": "ann", "no name": "@@@"}
        name = names[state]
    found = shape(request_code(site, name))
    if state in ("unknown", "disabled"):
        assert found == known
    assert found[:2] == known[:2]
    [row] = [each for each in rows(site) if each.id != former.id]
    assert site.mails() == []  # a row of the outbox without a recipient
    with site.db() as db:
        assert db.query(OutboxMessage).count() == 2
    assert (row.user_id, row.user_epoch) == (None, None)
    # Not even the code of that row is right.
    code = codes.code_of(site.app.registry["authsite"].keys, row.id)
    assert prove(site, code).status_int == 422
    assert failures(site)[-1][0] is None
    assert rows(site, BrowserSession) == []


def test_an_empty_name_is_a_mistake_in_the_form(site):
    answered = submit(site, "/login/email", page="/login", username="")
    assert answered.status_int == 422
    assert "Enter your" in answered.text
    assert rows(site) == []


def test_the_form_is_checked_for_forgery(site):
    answered = site.http.post("/login/email", {"username": "ann@example.com"}, status="*")
    assert answered.status_int in (400, 403)
    assert rows(site) == []


def test_a_get_leads_to_the_login_page_and_begins_nothing(site):
    assert site.http.get("/login/email").headers["Location"] == "http://localhost/login"
    assert rows(site) == []


def test_it_is_off_by_default(host_with):
    site = host_with(add_step)
    site.http.get("/login/email", status=404)
    assert "/login/email" not in site.http.get("/login").text


def test_a_second_factor_is_asked_for_as_after_a_password(by_mail):
    site = by_mail(add_word)
    change_ann(site, second_factor_at=site.ann.created_at)
    request_code(site)
    answered = prove(site, code_in(site.mails()[0]))
    assert answered.headers["Location"] == "http://localhost/word"
    assert rows(site, BrowserSession) == []
    [row] = rows(site)
    assert (row.amr, row.failures) == ("email", 0)
    assert site.http.post("/word?word=four+six").status_int == 303
    assert amrs(site) == [("email", "otp")]


def test_the_code_is_used_up_by_the_first_of_twenty_at_once(site):
    request_code(site)
    code, key = code_in(site.mails()[0]), site.http.cookies[COOKIE]

    def attempt(_number):
        browser = TestApp(site.app, extra_environ={"REMOTE_ADDR": "192.0.2.1"})
        browser.set_cookie(COOKIE, key)
        return browser.post("/prove", {"code": code}, status="*").status_int

    with ThreadPoolExecutor(5) as pool:
        statuses = list(pool.map(attempt, range(20)))
    assert statuses.count(303) == 1, statuses
    assert len(rows(site, BrowserSession)) == 1


def test_a_confirmed_account_keeps_its_password(site):
    request_code(site)
    prove(site, code_in(site.mails()[0]))
    site.new_browser()
    sign_in(site)


def test_after_a_reset_or_a_new_password_the_code_is_dead(site):
    request_code(site)
    code = code_in(site.mails()[0])
    change_ann(site, epoch=site.ann.epoch + 1)
    assert prove(site, code).status_int == 410


def test_a_secret_that_is_replaced_leaves_codes_that_were_mailed(by_mail):
    site = by_mail()
    request_code(site)
    code, key = code_in(site.mails()[0]), site.http.cookies[COOKIE]
    keys = site.app.registry["authsite"].keys
    keys[codes.PURPOSE] = KeyRing(["another secret" * 4, SECRET], codes.PURPOSE)
    assert codes.code_of(keys, rows(site)[0].id) != code
    plant(site, key)
    assert prove(site, code).status_int == 303


def test_known_and_unknown_names_cost_the_same_statements(site):
    """Of the request for a code, and of a wrong code: time reveals no account."""
    found = []
    request_code(site, "eve@example.com")  # the one that is recorded in this hour
    for name in ("ann@example.com", "ben@example.com"):
        site.new_browser()
        with counted(site.database) as asked:
            request_code(site, name)
        with counted(site.database) as tried:
            assert prove(site, "BBBB-BBBB").status_int == 422
        found.append(([*map(_shape, asked)], [*map(_shape, tried)]))
    for known, unknown in zip(*found, strict=True):
        assert "\n".join(known) == "\n".join(unknown)


def _shape(statement):
    """The statement; of an INSERT without its columns, of which one that is NULL is left out."""
    words = re.sub(r"\s+", " ", statement)
    return words.partition(" (")[0] if words.startswith("INSERT") else words
