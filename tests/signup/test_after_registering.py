"""After registering: the page names the address, mails the link again, and begins again."""

import pytest

from authsite.platform.mail.outbox import OutboxMessage
from tests.support.mails import link_in
from tests.support.pages import csrf_of, submit
from tests.support.site import PASSWORD

EMAIL = "Ann.Lee@example.com"
B = {"variant": "B", "require_email_confirmation": "true"}
VARIANTS = [{}, {"variant": "B"}, B, {**B, "prevent_enumeration": "true"}]


@pytest.fixture(params=VARIANTS, ids=["A", "B", "B confirmed", "B hidden"])
def site(request, site_with):
    return site_with(**request.param)


def register(site, email=EMAIL, **fields):
    """The page after the form of /register."""
    answer = submit(site, "/register", email=email, password=PASSWORD, **fields)
    assert answer.status_int == 303, answer.text
    return answer.follow()


def lead(page):
    return " ".join(page.html.select_one(".lead").get_text().split())


def shown_address(page):
    return page.html.select_one(".sent-to strong").text


def test_the_page_names_the_address_and_the_lifetime_of_the_link(site):
    page = register(site)
    assert lead(page).startswith("We sent you a link. It works for 1 hour. Open it to")
    assert "in this browser within an hour, you are signed in at once." in lead(page)
    assert shown_address(page) == EMAIL
    [mail] = site.mails()
    assert mail["To"] == EMAIL


def test_the_lifetime_is_that_of_the_setting(site_with):
    page = register(site_with(verification_expires_in="36h"))
    assert "It works for 36 hours." in lead(page)


def test_signing_in_is_a_link_and_the_primary_button_is_that_of_the_code(site):
    page = register(site)
    assert [each.text for each in page.html.select("main .primary")] == ["Confirm"]
    assert page.html.select_one(".foot a[href='/login']").text == "Sign in"


def form_of_link(page):
    """The form that mails the link again, behind the one for the code."""
    return next(each for each in page.forms.values() if each.action.endswith("/email/link"))


def mail_again(page):
    return form_of_link(page).submit().follow()


def test_the_link_is_mailed_again_and_works(site):
    page = register(site)
    site.mails()
    again = mail_again(page)
    assert "If this address still needs confirming" in lead(again)
    assert shown_address(again) == EMAIL
    [mail] = site.mails()
    assert mail["To"] == EMAIL
    opened = site.http.get(link_in(mail))
    form = {"csrf_token": csrf_of(opened), "url": opened.forms[0]["url"].value}
    site.http.post("/email/verify", form, status=303)
    site.login(site.client(), EMAIL)


def test_links_that_are_mailed_again_have_the_limit_of_the_address(site_with):
    site = site_with(limits="on")
    page = register(site)
    for _ in range(7):
        page = mail_again(page)
        assert "we have sent a link" in lead(page)
    assert [mail["To"] for mail in site.mails()] == [EMAIL] * 6  # the first, and 5 an hour


def test_a_mistyped_address_is_corrected_in_the_form(site):
    page = register(site, "ann@exmaple.com", next="/account?x=1")
    again = page.click("Change")
    assert again.forms[0]["email"].value == "ann@exmaple.com"
    assert again.forms[0]["next"].value == "/account?x=1"
    again.forms[0]["email"] = EMAIL
    again.forms[0]["password"] = PASSWORD
    corrected = again.forms[0].submit().follow()
    assert shown_address(corrected) == EMAIL
    assert form_of_link(corrected)["next"].value == "/account?x=1"
    assert {mail["To"] for mail in site.mails()} == {"ann@exmaple.com", EMAIL}


def test_the_next_forms_have_the_address_until_the_login(site):
    register(site)
    assert site.http.get("/login").forms[0]["username"].value == EMAIL
    for path in ("/email/link", "/password/forgot", "/register"):
        assert site.http.get(path).forms[0]["email"].value == EMAIL
    with site.db() as db:
        db.query(OutboxMessage).delete()
    site.http.get("/login")
    site.user("bo@example.com", confirmed=True)
    assert submit(site, "/login", username="bo@example.com", password=PASSWORD).status_int == 303
    assert "authsite-address" not in site.http.cookies


def test_a_login_name_that_is_no_address_is_not_prefilled(site_with):
    site = site_with(login_identifiers="username")
    register(site, username="ann")
    assert site.http.get("/login").forms[0]["username"].value == ""


@pytest.mark.control("L03")
def test_the_page_is_the_same_for_a_taken_address(site_with):
    site = site_with(**VARIANTS[-1])
    site.user("bob.lee@example.com", confirmed=True)
    free, taken = register(site, "ann.lee@example.com"), register(site, "bob.lee@example.com")
    without_token = [
        page.text.replace(csrf_of(page), "").replace("ann.lee", "bob.lee") for page in (free, taken)
    ]
    assert without_token[0] == without_token[1]


@pytest.mark.control("L03")
def test_the_cookie_has_the_same_size_for_every_address(site_with):
    site = site_with(**VARIANTS[-1])
    sizes = set()
    for email in ("a@b.example", f"{'a' * 60}@{'b' * 60}.example.com"):
        register(site, email)
        sizes.add(len(site.http.cookies["authsite-address"]))
    assert len(sizes) == 1


def test_the_longest_address_is_named_whole(site_with):
    email = f"{'a' * 64}@{'.'.join(['b' * 60] * 3)}.example"[:254]
    assert shown_address(register(site_with(), email)) == email


@pytest.mark.control("S02")
def test_the_cookie_is_signed_and_of_this_host_only(site_with):
    site = site_with(base_url="https://auth.example.org")
    answer = submit(site, "/register", email=EMAIL, password=PASSWORD)
    [cookie] = [c for c in answer.headers.getall("Set-Cookie") if "authsite-address" in c]
    assert cookie.startswith("__Host-authsite-address=")
    assert {"Max-Age=3600", "Path=/", "secure", "HttpOnly", "SameSite=Lax"} <= set(
        cookie.split("; ")
    )


@pytest.mark.parametrize("changed", ["", "x", "forged", "<b>eve@evil.example</b>"])
def test_without_our_cookie_the_page_names_no_address(site_with, changed):
    site = site_with()
    register(site)
    value = site.http.cookies["authsite-address"]
    forged = value[:-1] + ("A" if value[-1] != "A" else "B") if changed == "forged" else changed
    site.http.reset()
    headers = {"Cookie": f"authsite-address={forged}"}
    page = site.http.get("/register?done=1", headers=headers)
    assert lead(page).startswith("We sent you a link.")
    assert "evil" not in page.text
    assert page.html.select_one("main form") is None
    assert page.html.select_one("a[href='/email/link']")


def test_the_address_is_forgotten_after_an_hour(site_with, frozen):
    site = site_with()
    register(site)
    cookie = {"Cookie": f"authsite-address={site.http.cookies['authsite-address']}"}
    site.http.reset()
    frozen.advance(3599)
    assert EMAIL in site.http.get("/register?done=1", headers=cookie)
    frozen.advance(1)
    assert EMAIL not in site.http.get("/register?done=1", headers=cookie)


def test_after_a_reset_the_login_has_the_address(site_with):
    site = site_with()
    user = site.user(EMAIL, confirmed=True)
    fields = {"email": EMAIL, "token": site.reset_token(user), "password": "green otter 31 rye"}
    done = submit(site, "/password/reset", page="/login", **fields).follow()
    assert done.click("Sign in", href="/login").forms[0]["username"].value == EMAIL
