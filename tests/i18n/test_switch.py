"""The links below every page that change its language."""

from urllib.parse import urljoin, urlsplit

import pytest

from tests.support.mails import put, text_of
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD


def links(page):
    return {link.text: link for link in page.html.select("nav.bottom a")}


def switch(site, page, name):
    """Follow a link; the page that it leads to."""
    href = urljoin(page.request.url, links(page)[name]["href"])
    return site.http.get(href, status=303).follow(status="*")


def language(page):
    return page.html.html["lang"]


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/?done=signed-out",
            "/login",
            "/register",
            "/register?done=1",
            "/password/forgot",
            "/password/reset",
        ),
        *("/email/link", "/email/verify", "/logout", "/app", "/nowhere"),
    ],
)
def test_every_page_has_them_in_their_own_language(site, path):
    page = site.http.get(path, status="*")
    [current] = page.html.select("nav.bottom [aria-current]")
    assert (current.text, current["lang"]) == ("English", "en")
    german = links(page)["Deutsch"]
    assert (german["lang"], german["hreflang"]) == ("de", "de")
    assert list(links(page)) == ["Deutsch", "Español", "Français"]
    assert language(switch(site, page, "Deutsch")) == "de"


def test_the_account_page_has_them_too(site):
    site.user()
    sign_in(site)
    assert language(switch(site, site.http.get("/account"), "Deutsch")) == "de"


def test_the_choice_lasts_and_is_above_the_browsers_languages(site):
    page = switch(site, site.http.get("/login"), "Deutsch")
    for header in ("en", "es, en;q=0.5", ""):
        assert language(site.http.get("/register", headers={"Accept-Language": header})) == "de"
    assert language(switch(site, page, "English")) == "en"
    assert language(site.http.get("/login", headers={"Accept-Language": "de"})) == "en"


def test_the_page_and_its_query_stay(site):
    page = site.http.get("/login?next=/account%23email&unsaved=1&x=%C3%BC+%26&flag")
    answer = site.http.get(urljoin(page.request.url, links(page)["Deutsch"]["href"]), status=303)
    parts = urlsplit(answer.location)
    assert parts.path == "/login"
    assert parts.query == "next=/account%23email&unsaved=1&x=%C3%BC+%26&flag"


def test_next_stays_after_a_rejected_form(site):
    page = submit(site, "/login", username="x", password="y", next="/account?a=1&b=2")
    assert page.status_int == 422
    shown = switch(site, page, "Deutsch")
    assert language(shown) == "de"
    assert shown.html.find("input", {"name": "next"})["value"] == "/account?a=1&b=2"


def test_after_a_form_that_has_no_page_of_its_own_its_page_follows(site):
    site.user()
    sign_in(site)
    page = submit(site, "/account/password", page="/account", current_password="x", password="y")
    assert language(switch(site, page, "Deutsch").maybe_follow()) == "de"


def test_the_cookie_is_lax_lasts_a_year_and_is_for_no_script(site_with):
    site = site_with(base_url="https://id.example.org")
    answer = site.http.get("https://id.example.org/login?lang=de", status=303)
    [cookie] = answer.headers.getall("Set-Cookie")
    assert cookie.startswith("__Host-authsite-language=de;")
    for flag in ("HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=31536000", "secure"):
        assert flag.lower() in cookie.lower()


@pytest.mark.parametrize(
    "path",
    ["//evil.example/?lang=de", "/%5Cevil.example?lang=de", "/login?lang=de&next=//evil.example"],
)
def test_no_link_leads_to_another_host(site, path):
    answer = site.http.get(f"http://localhost{path}", status=303)
    assert urlsplit(answer.location).netloc == "localhost"
    page = answer.follow(status="*")
    for link in links(page).values():
        assert link["href"].startswith("?")


@pytest.mark.parametrize("value", ["", "tlh", "../de", "de%0D%0AX:y"])
def test_a_language_that_does_not_exist_changes_nothing(site, value):
    page = site.http.get(f"/login?lang={value}")
    assert language(page) == "en"
    assert not any("language" in cookie for cookie in page.headers.getall("Set-Cookie"))
    site.http.set_cookie("authsite-language", value.replace("%", ""))
    assert language(site.http.get("/login")) == "en"


def test_two_cookies_count_as_none(site):
    cookie = "authsite-language=de; authsite-language=en"
    headers = {"Cookie": cookie, "Accept-Language": "de"}
    assert language(site.http.get("/login", headers=headers)) == "de"


def test_the_api_and_forms_have_no_such_parameter(site):
    assert site.http.get("/v1/user?lang=de", status=401)
    assert site.http.post("/login?lang=de", {}, status=403)


def test_a_page_that_a_link_in_a_mail_opened_does_not_repeat_its_secret(site):
    for link in ("?token=x%2Fy", "/x"):
        page = site.http.get(f"/email/change/cancel{link}", status="*")
        given = [each["href"] for each in links(page).values()]
        assert given == ["?lang=de", "?lang=es", "?lang=fr"]
        assert "x%2Fy" not in page.text
        assert "x/y" not in page.text


def test_nor_does_its_form_lead_to_a_page_with_the_secret(site):
    page = site.http.get("/password/forgot")
    form = {"csrf_token": page.forms[0]["csrf_token"].value, "email": "ann@example.com"}
    form |= {"token": "forged", "password": "purple wolf 77 tea"}
    page = site.http.post("/password/reset", form, status=422)
    assert all(
        link["href"] in ("?lang=de", "?lang=es", "?lang=fr") for link in links(page).values()
    )


@pytest.mark.parametrize(
    ("what", "path"),
    [("reset", "/password/reset"), ("verify", "/email/verify"), ("cancel", "/email/change/cancel")],
)
def test_a_button_changes_the_language_of_a_page_with_a_token_and_nothing_else(site, what, path):
    mailed_to = {"reset": "/password/forgot", "verify": "/email/link", "cancel": "/account/email"}
    site.user(confirmed=what != "verify")
    fields = {"email": "ann@example.com"}
    if what == "cancel":
        sign_in(site)
        fields = {"email": "new@example.com", "current_password": PASSWORD}
    submit(site, mailed_to[what], page="/account" if what == "cancel" else None, **fields)
    texts = " ".join(text_of(mail) for mail in site.mails())
    link = next(word for word in texts.split() if path in word)
    page = site.http.get(link)
    before = site.events()

    german = page.html.select_one("nav.bottom button[lang=de]")
    form = page.html.find("form", id=german["form"])
    assert (form["method"], form["action"]) == ("post", path)
    assert german["formaction"] == f"{path}?lang=de"
    sent = {field["name"]: field.get("value", "") for field in form.select("input[name]")}
    shown = site.http.post(f"{path}?lang=de", sent, status=200)

    assert language(shown) == "de"
    assert language(site.http.get("/").maybe_follow()) == "de"  # the choice lasts
    assert site.events() == before
    again = shown.html.find("form", id=german["form"])
    assert [field.get("value") for field in again.select("input[type=hidden]")][1:] == [
        field.get("value") for field in form.select("input[type=hidden]")
    ][1:]
    site.http.post(path, sent, status=422 if what == "reset" else 200)  # which has no password


def test_a_language_is_not_changed_by_a_foreign_form(site):
    answer = site.http.post("/password/reset?lang=de", {"token": "x", "email": "a"}, status=403)
    assert not any("language" in cookie for cookie in answer.headers.getall("Set-Cookie"))


def test_mails_are_in_the_chosen_language(site):
    site.user()
    site.http.get("/login?lang=de", status=303)
    submit(site, "/password/forgot", email="ann@example.com")
    [mail] = site.mails()
    assert mail["Subject"].startswith("Passwort bei")


def test_it_works_below_a_route_prefix_and_a_mount_path(host_with):
    host = host_with(lambda config: None, prefix="auth")
    answer = host.http.get(
        "/site/auth/login?lang=de&next=/x", extra_environ={"SCRIPT_NAME": "/site"}, status=303
    )
    assert urlsplit(answer.location).path == "/site/auth/login"
    assert urlsplit(answer.location).query == "next=/x"


def test_a_hosts_own_lang_is_the_hosts(host_with):
    def build(config):
        config.add_route("shop", "/shop")
        config.add_view(lambda request: "shop", route_name="shop", renderer="string")

    host = host_with(build)
    answer = host.http.get("/shop?lang=de")
    assert "Set-Cookie" not in answer.headers


def test_the_setting_limits_and_orders_the_languages(site_with):
    site = site_with(languages="de en")
    page = site.http.get("/login", headers={"Accept-Language": "it"})
    assert language(page) == "de"
    assert list(links(page)) == ["English"]
    put(site)
    only = site_with(languages="de")
    page = only.http.get("/login", headers={"Accept-Language": "en"})
    assert (language(page), links(page)) == ("de", {})
    assert only.http.get("/login?lang=en").status_int == 200


def test_an_unknown_language_stops_the_start(site_with):
    with pytest.raises(Exception, match="give some of en, de"):
        site_with(languages="de tlh")
