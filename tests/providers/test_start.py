"""The buttons, the way to a provider and back, and their limits."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.providers.people import arrive, come_back, go, send, users
from tests.support.pages import csrf_of, sign_in, submit

from .test_new_identity import heading

FIRST, OTHER = "https://login.example", "https://konto.example"


def test_login_and_registration_show_a_button_for_each_provider_in_their_order(site_of, providers):
    names = ["gitlab", "google", "github", "microsoft", "corp"]
    fakes = [providers("oidc" if name == "corp" else name, name) for name in names]
    site = site_of(*fakes)
    for path in ("/login", "/register"):
        page = site.http.get(path).html
        actions = [form["action"] for form in page.select(".providers form")]
        assert actions == [f"/login/with/{name}" for name in names]
        folded = page.select(".providers details form")
        assert [form["action"] for form in folded] == ["/login/with/corp"]
        assert "or" in page.select_one(".or").get_text()
        for image in page.select(".providers img"):
            assert site.http.get(image["src"]).content_type == "image/svg+xml"


def test_without_providers_there_is_neither_a_button_nor_a_page(site):
    assert not site.http.get("/login").html.select(".providers, .or")
    site.http.get("/login/with/google", status=404)


def test_the_button_leads_on_by_a_page_and_opening_its_page_changes_nothing(site_of, google):
    site = site_of(google)
    page = site.http.get("/login/with/google?next=/account/security&remember=1")
    assert "authsite-provider" not in site.http.cookies
    answer = send(page, "/login/with/google")
    assert answer.status_int == 200
    assert heading(answer).startswith("Continue to 127.0.0.1")
    link = answer.html.select_one("a.button.primary")["href"]
    assert answer.html.select_one("meta[http-equiv=refresh]")["content"] == f"0;url={link}"
    assert site.http.get(google.authorize(link)).status_int == 303
    assert "authsite-provider" in site.http.cookies


def test_at_another_base_url_the_button_leads_to_the_first_one(site_of, google):
    site = site_of(google, base_url=f"{FIRST} {OTHER}")
    answer = site.http.get(f"{OTHER}/login/with/google?next=/account")
    assert (answer.status_int, answer.location) == (
        302,
        f"{FIRST}/login/with/google?next=%2Faccount",
    )
    page = site.http.get(f"{OTHER}/login")
    form = {"csrf_token": csrf_of(page), "next": "/account"}
    answer = site.http.post(f"{OTHER}/login/with/google", form, status=200)
    link = answer.html.select_one("a.button.primary")["href"]
    assert link == f"{FIRST}/login/with/google?next=%2Faccount"


@pytest.mark.parametrize("purpose", ["link", "confirm"])
def test_what_needs_a_signed_in_user_leads_others_to_the_login(site_of, google, purpose):
    site = site_of(google)
    answer = submit(site, "/login/with/google", purpose=purpose)
    assert (answer.status_int, answer.location) == (303, "http://localhost/login")


def test_an_unknown_purpose_is_an_error(site_of, google):
    assert submit(site_of(google), "/login/with/google", purpose="steal").status_int == 400


def test_to_link_needs_the_password_and_to_confirm_names_the_account_there(site_of, google):
    site = site_of(google)
    send(arrive(site, google), "/create")
    there = dict(parse_qsl(urlsplit(go(site, "google", purpose="confirm")).query))
    assert (there["login_hint"], there["prompt"], there["max_age"]) == (
        "ann@gmail.com",
        "login",
        "0",
    )
    site.http.reset()
    site.user("bo@example.com", confirmed=True)
    sign_in(site, "bo@example.com")
    answer = submit(site, "/login/with/google", purpose="link", current_password="not this one")
    assert answer.status_int == 422
    assert answer.html.select_one("input[name=purpose]")["value"] == "link"
    assert answer.html.select_one("input[name=current_password]")


def test_a_return_counts_for_the_session_in_which_it_began(site_of, google):
    site = site_of(google)
    send(arrive(site, google), "/create")
    url = google.authorize(go(site, "google", purpose="confirm"))
    submit(site, "/logout")
    assert heading(site.http.get(url, status=400)) == "You are no longer signed in"


def test_a_refused_return_has_a_page_in_plain_words(site_of, google):
    site = site_of(google)
    google.return_error = "access_denied"
    answer = come_back(site, google)
    assert (answer.status_int, heading(answer)) == (400, "Canceled")
    assert answer.headers["X-Request-Id"] in answer.text
    assert "access_denied" not in answer.text


def test_after_twenty_refused_returns_an_address_has_to_wait(site_of, google):
    site = site_of(google, limits="on", **{"limits.login-address": "100/minute"})
    google.return_error = "access_denied"
    statuses = [come_back(site, google).status_int for _ in range(21)]
    assert statuses == [400] * 20 + [429]


def test_starts_and_returns_count_as_logins_of_the_address(site_of, google):
    site = site_of(google, limits="on", **{"limits.login-address": "2/minute"})
    assert go(site, "google")
    assert come_back(site, google).status_int == 429


def test_where_registration_is_for_domains_only_their_addresses_register(site_of, google):
    google.claims |= {"email": "ann@corp.example", "hd": "corp.example"}
    site = site_of(google, registration="domains", registration_domains="corp.example")
    assert send(arrive(site, google), "/create").status_int == 303
    google.subject, google.claims["email"], google.claims["hd"] = "2", "bo@gmail.com", None
    site.http.reset()
    assert come_back(site, google).status_int == 403
    assert len(users(site)) == 1
