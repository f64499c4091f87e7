"""The account page: every form does what its API twin does, and comes back to the page."""

import pytest
from sqlalchemy import select

from authsite.sign_in.sessions.models import BrowserSession
from tests.support.mails import link_in
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD, Site, bearer

NEW = "purple wolf 77 tea"


@pytest.fixture
def ann(site_with):
    """A site where Ann is signed in with a browser."""
    site = site_with(login_identifiers="email username phone", phone_region="DE")
    site.user()
    sign_in(site)
    return site


def send(site, path, **fields):
    return submit(site, path, page="/account", **fields)


SECURITY = ("password", "sessions")


def done(answer, what):
    assert answer.status_int == 303, answer
    page = "/account/security" if what in SECURITY else "/account"
    assert answer.headers["Location"].endswith(f"{page}?done={what}")


def test_the_profile_is_saved_and_emptied(ann):
    done(send(ann, "/account/profile", name="Ann Lee", username="annlee"), "profile")
    page = ann.http.get("/account").text
    assert 'value="Ann Lee"' in page
    assert 'value="annlee"' in page
    done(send(ann, "/account/profile", name="", username=""), "profile")
    page = ann.http.get("/account").text
    assert 'value="Ann Lee"' not in page
    ann.login(ann.client(), username="annlee", status=400)


def test_an_error_in_the_profile_comes_back_beside_its_field(ann):
    answer = send(ann, "/account/profile", name="Ann", username="a@b", phone="12")
    assert answer.status_int == 422
    assert answer.text.count('aria-invalid="true"') == 2
    assert 'value="a@b"' in answer.text


def test_an_address_changes_once_its_link_was_used(ann):
    done(send(ann, "/account/email", email="new@example.com", current_password=PASSWORD), "email")
    assert "new@example.com" in ann.http.get("/account").text
    done(send(ann, "/account/email/resend"), "resend")
    mails = [mail for mail in ann.mails() if mail["To"] == "new@example.com"]
    assert len(mails) == 2
    page = ann.http.get(link_in(mails[-1]))
    url = page.forms[0]["url"].value
    ann.http.post("/email/verify", {"csrf_token": csrf_of(page), "url": url}, status=200)
    ann.login(ann.client(), username="new@example.com")


@pytest.mark.parametrize(
    "fields",
    [
        {"email": "new@example.com", "current_password": "wrong wrong"},
        {"email": "no address", "current_password": PASSWORD},
    ],
)
def test_a_change_of_address_with_an_error_changes_nothing(ann, fields):
    assert send(ann, "/account/email", **fields).status_int == 422
    assert ann.mails() == []


def test_a_confirmed_user_who_requests_a_link_gets_no_mail(site_with):
    site = site_with()
    site.user(confirmed=True)
    sign_in(site)
    done(send(site, "/account/email/resend"), "resend")
    assert site.mails() == []


@pytest.mark.control("P10")
def test_a_new_password_keeps_this_browser_and_ends_the_others(ann):
    other = Site(ann.url, login_identifiers="email username phone", phone_region="DE")
    sign_in(other)
    wrong = send(ann, "/account/password", current_password="wrong wrong 1", password=NEW)
    assert wrong.status_int == 422
    fields = {"current_password": PASSWORD, "password": NEW}
    done(send(ann, "/account/password", **fields), "password")
    ann.http.get("/account", status=200)
    other.http.get("/account", status=302)
    other.database.dispose()


@pytest.mark.control("X03")
def test_sessions_can_be_ended_one_by_one_and_all_others_at_once(ann):
    keys = ann.client()
    first, second = ann.login(keys), ann.login(keys)
    with ann.db() as db:
        [here] = db.scalars(select(BrowserSession.id)).all()
    family = ann.families()[0].id
    done(send(ann, f"/account/sessions/{family}/end"), "sessions")
    ann.me(first["access_token"], status=401)
    ann.me(second["access_token"])
    done(send(ann, "/account/sessions/end-others"), "sessions")
    ann.me(second["access_token"], status=401)
    ann.http.get("/account", status=200)
    assert send(ann, "/account/sessions/not-an-id/end").status_int == 404
    assert send(ann, f"/account/sessions/{here}/end").location.endswith("/?done=signed-out")
    ann.http.get("/account", status=302)


@pytest.mark.control("X02")
def test_deleting_the_account_requires_the_password_and_shows_a_farewell(ann):
    assert send(ann, "/account/delete", current_password="wrong wrong 1").status_int == 422
    answer = send(ann, "/account/delete", current_password=PASSWORD)
    assert answer.headers["Location"].endswith("/?done=deleted")
    assert "authsite" not in ann.http.cookies
    ann.login(ann.client(), status=400)


def test_each_page_leads_to_the_others_and_names_itself(ann):
    for path in ("/account", "/account/security", "/account/access"):
        page = ann.http.get(path).html
        links = {link["href"]: link.get("aria-current") for link in page.select("nav.places a")}
        assert list(links) == ["/account", "/account/security", "/account/access"]
        assert [link for link, current in links.items() if current == "page"] == [path]


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/account/profile", "/account"),
        ("/account/password", "/account/security"),
        ("/account/tokens", "/account/access"),
    ],
)
def test_a_form_with_mistakes_comes_back_on_its_own_page(ann, path, page):
    fields = {"username": "a@b", "current_password": "wrong wrong 1", "password": NEW, "name": "x"}
    wanted = {
        "/account/profile": ("username",),
        "/account/password": ("current_password", "password"),
        "/account/tokens": ("name", "current_password"),
    }[path]
    answer = submit(ann, path, page=page, **{name: fields[name] for name in wanted})
    assert answer.status_int == 422
    form = answer.html.select_one(f"form[action='{path}']")
    assert form.select("[aria-invalid=true]")
    assert form.find_parent("details").has_attr("open")
    assert answer.html.select_one("nav.places [aria-current]")["href"] == page


def test_a_link_is_only_promised_if_one_was_mailed(site_with, frozen):
    site = site_with(session_idle="30d")
    site.user()
    sign_in(site)

    def row():
        return site.http.get("/account").html.select_one("section[aria-labelledby=email]").text

    assert "This address is not confirmed." in row()
    assert "Send a confirmation e-mail" in row()
    done(send(site, "/account/email/resend"), "resend")
    assert "open the link in the e-mail that we sent there" in row()
    assert "Send the e-mail again" in row()
    assert len(site.mails()) == 1
    assert "open the link in the e-mail that we sent there" in row()
    frozen.advance(3601)  # the link has expired
    assert "This address is not confirmed." in row()


def test_only_an_unconfirmed_address_has_a_badge(site):
    site.user()
    site.user("bo@example.com", confirmed=True)
    for email, badges in (("ann@example.com", ["not confirmed"]), ("bo@example.com", [])):
        site.http.reset()
        sign_in(site, email)
        row = site.http.get("/account").html.select_one("section[aria-labelledby=email]")
        assert [badge.text for badge in row.select(".badge")] == badges


def test_the_deletion_names_what_goes(ann):
    token = ann.login(ann.client())["access_token"]
    for name in ("one", "two"):
        body = {"name": name, "current_password": PASSWORD}
        ann.http.post_json("/v1/user/tokens", body, headers=bearer(token))
    section = ann.http.get("/account").html.select_one("section[aria-labelledby=delete]")
    assert [item.text.strip() for item in section.select("li")] == [
        "your profile and your e-mail address",
        "2 sign-ins",
        "2 personal access tokens",
    ]
    assert section.select_one("a[href='#export']")


def test_p5_times_are_isolated_and_devices_have_an_icon(ann):
    page = ann.http.get("/account/security").html
    assert page.select("time")
    assert all(time.parent.name == "bdi" for time in page.select("time"))
    assert all(item.select_one("svg[aria-hidden=true]") for item in page.select(".devices li"))


def test_the_start_page_leads_to_the_account_or_to_the_login(site_with):
    site = site_with()
    site.user()
    assert site.http.get("/", status=302).location == "http://localhost/login"
    assert site.http.get("/?done=x", status=302).location == "http://localhost/login"
    for done_ in ("signed-out", "deleted"):
        page = site.http.get(f"/?done={done_}", status=200)
        assert page.html.select_one("a[href='/login']")
    sign_in(site)
    for path in ("/", "/?done=signed-out"):
        assert site.http.get(path, status=302).location == "http://localhost/account"
    elsewhere = site_with(login_page_url="https://sso.example.org/in")
    assert elsewhere.http.get("/", status=302).location == "https://sso.example.org/in"
