"""The sign above a heading, and the pages after a form: what happened, and what comes next."""

import pytest

from tests.support.mails import link_in
from tests.support.pages import csrf_of, submit
from tests.support.site import PASSWORD


def emblem(page):
    signs = page.html.select("main .emblem")
    assert all(sign["aria-hidden"] == "true" and sign.svg for sign in signs)
    return [[name for name in sign["class"] if name != "emblem"] for sign in signs]


@pytest.mark.parametrize(
    ("path", "sign"),
    [
        ("/login", []),
        ("/register?done=1", [["mail"]]),
        ("/password/forgot?sent=1", [["mail"]]),
        ("/email/link?sent=1", [["mail"]]),
        ("/password/reset?done=1", [["done"]]),
        ("/password/reset?email=a@example.com&token=x", [["dead"]]),
        ("/email/verify?url=x", [["dead"]]),
        ("/email/change/cancel?token=x", [["dead"]]),
        ("/email/change/revert?token=x", [["dead"]]),
        ("/login/not-me?token=x", [["dead"]]),
    ],
)
def test_an_outcome_has_a_sign(site, path, sign):
    assert emblem(site.http.get(path, status="*")) == sign


def test_a_confirmed_address_has_the_check_mark(site):
    site.user()
    submit(site, "/email/link", email="ann@example.com")
    [mail] = site.mails()
    opened = site.http.get(link_in(mail))
    assert emblem(opened) == []
    form = {"csrf_token": csrf_of(opened), "url": opened.forms[0]["url"].value}
    assert emblem(site.http.post("/email/verify", form)) == [["done"]]


def test_a_reset_link_is_sent_again_and_signing_in_is_a_link(site):
    site.user(confirmed=True)
    page = submit(site, "/password/forgot", email="ann@example.com", next="/account?x=1").follow()
    assert page.html.select_one(".sent-to strong").text == "ann@example.com"
    assert page.html.select_one("main .primary") is None
    assert page.html.select_one(".foot a").text == "Back to sign in"
    form = page.forms[0]
    assert (form.action, form["next"].value) == ("/password/forgot", "/account?x=1")
    again = form.submit().follow()
    assert again.html.select_one(".sent-to strong").text == "ann@example.com"
    links = [link_in(mail) for mail in site.mails()]
    assert len(links) == 2
    assert all(each.startswith("http://localhost/password/reset/") for each in links)
    assert again.click("Change").forms[0]["email"].value == "ann@example.com"


def test_the_link_for_a_forgotten_password_follows_its_field(site):
    page = site.http.get("/login").html
    field = page.find(id="password").find_parent(class_="field")
    assert field.select_one("label").text == "Password"
    assert field.select(".aside a")[0]["href"] == "/password/forgot"
    order = [tag.get("id") or tag.text for tag in page.select("main form input[id], main form a")]
    assert order == ["username", "password", "Forgot your password?", "remember"]


def test_who_has_no_account_finds_the_way_below_the_form(site_with):
    site = site_with(site_name="Lighthouse")
    page = site.http.get("/login?next=/reports").html
    sentence = page.select("main p")[-1]
    assert sentence.text == "New to Lighthouse? Create an account"
    assert sentence.a["href"] == "/register?next=%2Freports"
    assert site_with(registration="off").http.get("/login").html.select("main p") == []


def test_a_reset_does_not_sign_in_and_leads_on_with_the_address(site):
    site.user(confirmed=True)
    submit(site, "/password/forgot", email="ann@example.com", next="/account?x=1")
    [mail] = site.mails()
    form = site.http.get(link_in(mail)).forms[0]
    form["password"] = "green otter 31 rye"
    done = form.submit().follow()
    login = site.http.get(done.html.select_one("main a.primary")["href"]).forms[0]
    assert (login["username"].value, login["next"].value) == ("ann@example.com", "/account?x=1")
    assert PASSWORD not in done.text
    site.http.get("/account", status=302)


@pytest.mark.parametrize("email", ["ünïcode@example.com", "анна@example.com"])
def test_other_letters_before_the_at_sign_get_a_message_of_their_own(site, email):
    page = submit(site, "/register", email=email, password="purple wolf 77 tea")
    said = "Use an address with Latin letters before the @, without accents."
    assert page.status_int == 422
    assert said in page.html.find(id="email-error").text
    answer = site.http.post("/v1/register", {"email": email, "password": PASSWORD}, status=422)
    [error] = [each for each in answer.json["errors"] if each["field"] == "email"]
    assert (error["code"], error["message"]) == ("invalid", said)
