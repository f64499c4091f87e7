"""The link "This was not me" of a notice: what it ends, and when it has ended itself."""

from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest

from authsite import clock
from authsite.account import not_me
from authsite.audit.models import AuditEvent
from authsite.crypto.sealed import SealedFormat
from authsite.login.notices import LINK_LIFETIME
from authsite.mail.models import OutboxMessage
from authsite.users import service as users
from authsite.users.models import FormerAddress, User
from tests.account.test_email_change import change, paths_to
from tests.support.acting import acting
from tests.support.mails import link_in, text_of, token_in
from tests.support.notices import HOME, arrive, events, press, site_of_ann, token_sign_in, use
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD, bearer
from tests.support.together import together
from tests.verification.story import revert_link
from tests.verification.test_cancel_change import press as press_undo

NEW = "purple wolf 77 tea"


@pytest.fixture
def site(site_with, frozen):
    yield from site_of_ann(site_with)


def reset(site):
    """Reset Ann's password with a mailed link."""
    form = {"email": "ann@example.com", "token": site.reset_token(site.ann), "password": NEW}
    site.http.post_json("/v1/password/reset", form, status=200)


def choose(site, link, password=NEW):
    """Choose a password on the page that the link leads to after its button."""
    site.http.reset()
    fields = {"token": token_in(link), "password": password}
    return submit(site, "/login/not-me/password", page="/login", **fields)


def moves(site, frozen, *addresses, password=PASSWORD):
    """The intruder changes the address, and later changes it again."""
    with site.db() as db:
        db.get(User, site.ann.id).email_verified_at = clock.now() - timedelta(days=8)
    for address in addresses:
        frozen.advance(60)
        present = address_of(site)
        token = site.login(site.keys, present, password)["access_token"]
        change(site, token, address, current_password=password)
        [path] = paths_to(site, address)
        site.http.get(path, status=200)


def address_of(site):
    with site.db() as db:
        return db.get(User, site.ann.id).email


def test_the_link_ends_all_sign_ins_and_the_password_and_lets_its_reader_choose_a_new_one(
    site, frozen
):
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
    assert done.html.h1.text == "All sign‑ins have ended. Choose a new password"
    assert [event.user_id for event in events(site, "login.disowned")] == [site.ann.id]
    for cookies in browsers:
        use(site, cookies)
        site.http.get("/account", status=302)
    site.http.reset()
    site.http.get("/v1/user", headers=bearer(tokens["access_token"]), status=401)
    site.login(site.keys, status=400)  # the old password
    assert press(site, link).html.h1.text == done.html.h1.text
    assert site.http.get(link).html.h1.text == done.html.h1.text  # until one was chosen
    assert len(events(site, "login.disowned")) == 1

    weak = choose(site, link, "password")
    assert weak.status_int == 422
    assert weak.html.select_one("#password-error")
    assert site.http.get(link).html.h1.text == done.html.h1.text
    chosen = choose(site, link)
    assert "Your password has been changed" in chosen.text
    assert site.http.get("/login").forms[0]["username"].value == "ann@example.com"
    site.login(site.keys, password=NEW)
    for dead in (press(site, link), choose(site, link), site.http.get(link, status="*")):
        assert dead.status_int == 403
    subjects = [each["Subject"] for each in site.mails()]
    assert subjects.count("Your password at authsite was changed") == 1


def test_a_password_is_not_chosen_before_the_button_was_pressed(site):
    [mail] = arrive(site)
    assert choose(site, link_in(mail)).status_int == 403
    site.login(site.keys)


def test_opening_the_link_and_the_check_of_a_password_change_nothing(site):
    [mail] = arrive(site)
    link = link_in(mail)
    site.http.head(link)
    site.http.get(f"/login/not-me/password?token={token_in(link)}")
    site.login(site.keys)
    press(site, link)
    fields = {"token": token_in(link), "password": NEW}
    rated = submit(site, "/login/not-me/check", page=link, **fields)
    assert rated.json["level"]
    site.login(site.keys, password=NEW, status=400)


def test_of_two_requests_at_once_one_ends_the_sign_ins_and_both_show_the_form(site, frozen):
    [mail] = arrive(site)
    site.http.reset()
    page = site.http.get(link_in(mail))
    form = {"csrf_token": csrf_of(page), "token": token_in(link_in(mail))}
    post = partial(site.http.post, "/login/not-me", form, status="*")
    answers = together(post, post)
    assert [answer.status_int for answer in answers] == [200, 200]
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
    site.http.extra_environ["REMOTE_ADDR"] = HOME
    link = link_in(mail)
    site.http.extra_environ["REMOTE_ADDR"] = HOME
    assert press(site, link).status_int == 200
    choose(site, link, PASSWORD)
    owner = dict(site.http.cookies)
    site.mails()
    frozen.advance(60)
    use(site, owner)
    site.http.extra_environ["REMOTE_ADDR"] = "203.0.113.80"
    sign_in(site)  # the browser that used the link is recognized
    use(site, {})
    site.http.extra_environ["REMOTE_ADDR"] = HOME
    sign_in(site)  # and so is its address
    assert site.mails() == []
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
    site.http.extra_environ["REMOTE_ADDR"] = "203.0.113.80"
    choose(site, links[0], PASSWORD)
    site.mails()
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


FIRST, SECOND = "eve@evil.example", "eve2@evil.example"


def reset_at(site, email):
    form = {"email": email, "token": site.reset_token(site.ann), "password": NEW}
    site.http.post_json("/v1/password/reset", form, status=200)


def test_a_reset_after_a_change_of_address_does_not_end_the_link(site, frozen):
    [mail] = arrive(site)
    moves(site, frozen, FIRST)
    frozen.advance(60)
    reset_at(site, FIRST)  # by the intruder, who reads that mailbox
    assert press(site, link_in(mail)).status_int == 200


def test_l2_an_intruder_who_changes_twice_and_takes_it_back_does_not_end_the_link(site, frozen):
    [mail] = arrive(site)
    moves(site, frozen, FIRST)
    site.mails()
    moves(site, frozen, SECOND)
    [notice] = [each for each in site.mails() if each["To"] == FIRST]
    press_undo(site, revert_link(notice))
    assert address_of(site) == FIRST
    assert press(site, link_in(mail)).status_int == 200


def test_once_the_address_cannot_be_restored_its_link_is_dead(site, frozen):
    [mail] = arrive(site)
    moves(site, frozen, FIRST)
    with site.db() as db:
        db.query(FormerAddress).delete()
    assert press(site, link_in(mail)).status_int == 403
    assert site.http.get(link_in(mail), status=403)


def test_a_revert_ends_the_links_of_the_restored_address_and_those_mailed_since(site, frozen):
    [mail] = arrive(site)
    moves(site, frozen, FIRST)
    [notice] = [each for each in site.mails() if each["To"] == "ann@example.com"]
    frozen.advance(60)
    site.http.reset()
    site.http.extra_environ["REMOTE_ADDR"] = "203.0.113.99"
    sign_in(site, FIRST)
    [since] = site.mails()
    assert since["To"] == FIRST
    frozen.advance(60)
    press_undo(site, revert_link(notice))
    assert address_of(site) == "ann@example.com"
    for dead in (mail, since):
        assert press(site, link_in(dead)).status_int == 403


def test_a_password_chosen_at_a_former_address_ends_its_links_alone(site, frozen):
    [mail] = arrive(site)
    moves(site, frozen, FIRST)
    site.mails()
    press(site, link_in(mail))
    chosen = choose(site, link_in(mail))
    assert FIRST not in chosen.text
    assert "another e-mail address now" in chosen.text
    assert press(site, link_in(mail)).status_int == 403
    frozen.advance(60)
    site.http.reset()
    site.http.extra_environ["REMOTE_ADDR"] = "203.0.113.55"
    sign_in(site, FIRST, NEW)
    later = next(each for each in site.mails() if "not-me" in text_of(each))
    assert press(site, link_in(later)).status_int == 200


def test_a_link_of_the_version_before_serves_by_the_same_rules(site, frozen):
    arrive(site)
    expires = clock.now() + LINK_LIFETIME
    with site.db() as db:
        event = db.query(AuditEvent).filter_by(event="session.begun").one()
    ring = site.app.registry["authsite"].keys[not_me.FORMER_PURPOSE]
    ids = site.ann.id.bytes, UUID(event.details["session"]).bytes
    token = SealedFormat("16s16sQ").seal(ring, *ids, event.id, expires=int(expires.timestamp()))
    link = f"http://localhost/login/not-me?token={token}"
    assert site.http.get(link).html.h1.text == "Was this sign‑in not you?"
    moves(site, frozen, FIRST, SECOND)
    fields = {"token": token}
    site.http.reset()
    assert submit(site, "/login/not-me", page="/login", **fields).status_int == 200
    fields |= {"password": NEW}
    assert submit(site, "/login/not-me/password", page="/login", **fields).status_int == 200
    assert submit(site, "/login/not-me", page="/login", token=token).status_int == 403


@pytest.mark.parametrize("through", ["browser", "app"])
def test_a_link_is_of_the_login_however_late_its_mail_is_sent(site, frozen, through):
    site.http.reset()
    site.http.extra_environ["REMOTE_ADDR"] = "203.0.113.9"
    if through == "browser":
        sign_in(site)
    else:
        token_sign_in(site)
    with site.db() as db:
        db.query(OutboxMessage).update({"next_attempt_at": clock.now() + timedelta(hours=1)})
    moves(site, frozen, FIRST)  # before the mail server answers
    reset_at(site, FIRST)
    frozen.advance(3600)
    mail = next(each for each in site.mails() if "not-me" in text_of(each))
    assert press(site, link_in(mail)).status_int == 200


def test_a_change_of_address_after_a_reset_does_not_revive_the_link(site, frozen):
    [mail] = arrive(site)
    frozen.advance(60)
    reset(site)
    moves(site, frozen, FIRST, password=NEW)
    assert press(site, link_in(mail)).status_int == 403


def test_a_notice_of_a_sign_in_that_has_ended_has_a_link_that_works(site, frozen):
    site.http.reset()
    site.http.extra_environ["REMOTE_ADDR"] = "203.0.113.9"
    sign_in(site)
    submit(site, "/logout")
    [mail] = site.mails()
    assert "203.0.113.9" in text_of(mail)
    assert press(site, link_in(mail)).status_int == 200


@pytest.mark.control("F19")
def test_h1_a_registrant_takes_no_account_back_with_the_link_of_a_notice(site, frozen):
    """The account changed to the victim's address, who confirmed it and chose a password."""
    [mail] = arrive(site)  # to the registrant, whose address is young
    frozen.advance(60)
    token = site.login(site.keys)["access_token"]
    change(site, token, FIRST)
    [path] = paths_to(site, FIRST)
    site.http.get(path, status=200)
    reset_at(site, FIRST)
    for refused in (press(site, link_in(mail)), choose(site, link_in(mail))):
        assert refused.status_int == 403
    site.login(site.keys, FIRST, NEW)
