"""The link "This was not me" of a notice: what it ends, and when it has ended itself."""

from functools import partial

import pytest

from authsite.sign_in.notices import LINK_LIFETIME
from authsite.users import service as users
from tests.support.acting import acting
from tests.support.factors import add_totp
from tests.support.mails import link_in, token_in
from tests.support.notices import (
    NEW,
    arrive,
    choose,
    events,
    press,
    reset,
    site_of_ann,
    token_sign_in,
    use,
)
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import HOME, PASSWORD, bearer
from tests.support.together import together


@pytest.fixture
def site(site_with, frozen):
    return site_of_ann(site_with)


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
    assert [event.user_id for event in events(site, "login.disavowed")] == [site.ann.id]
    for cookies in browsers:
        use(site, cookies)
        site.http.get("/account", status=302)
    site.http.reset()
    site.http.get("/v1/user", headers=bearer(tokens["access_token"]), status=401)
    site.login(site.keys, status=400)  # the old password
    assert press(site, link).html.h1.text == done.html.h1.text
    assert site.http.get(link).html.h1.text == done.html.h1.text  # until one was chosen
    assert len(events(site, "login.disavowed")) == 1

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
    assert len(events(site, "login.disavowed")) == 1


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
    assert events(site, "login.disavowed") == []


def test_the_page_says_what_happens_to_second_factors_where_there_are_any(site):
    [mail] = arrive(site)
    link = link_in(mail)
    assert "passkeys" not in site.http.get(link).html.select_one(".lead").text
    add_totp(site, site.ann)
    assert "passkeys" in site.http.get(link).html.select_one(".lead").text
