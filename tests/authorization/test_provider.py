"""An application sends its users to another provider: ``provider`` and ``login_hint``."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from webtest import TestApp

from tests.providers.conftest import settings_of
from tests.providers.people import send
from tests.support.authorizing import (
    BASE,
    OPENID,
    answer_of,
    application,
    authorize,
    follow,
    leads_to,
    press,
    redeemed,
    target_of,
)
from tests.support.site import PASSWORD, Site

ADDRESS = "ann@example.com"


@pytest.fixture
def corp(providers, site_of):
    """The provider ``corp``, and a site with it."""
    fake = providers("oidc", "corp")
    return fake, site_of((fake, {"trust-email": "on"}), **OPENID)


def to_provider(site, answer):
    """Go on from the answer of the endpoint, and press the button: the URL at the provider."""
    assert leads_to(answer) == "/login/with/corp"
    form = next(iter(site.http.get(target_of(answer)).forms.values()))
    return form.submit(status=200).html.select_one("a.button.primary")["href"]


def back(site, fake, url):
    """Sign in there; what comes after it."""
    return follow(site, site.http.get(fake.authorize(url), status="*"))


def create_account(site, fake, app):
    """Sign in there for the first time; what comes after the account was created."""
    page = back(site, fake, to_provider(site, authorize(site, app, provider="corp")))
    return follow(site, send(page, "/create"))


def hint(url):
    return dict(parse_qsl(urlsplit(url).query)).get("login_hint")


def known(site, fake, app):
    """Sign in once, so that the identity is known; and out of this browser."""
    answer_of(press(site, create_account(site, fake, app)))
    site.http.reset()


def test_a_new_person_comes_to_the_provider_with_the_hint_and_back_with_a_code(corp):
    fake, site = corp
    app = application(site)
    url = to_provider(site, authorize(site, app, provider="corp", login_hint=ADDRESS))
    assert url.startswith(fake.url)
    assert hint(url) == ADDRESS
    page = back(site, fake, url)
    consent = follow(site, send(page, "/create"))
    answer = answer_of(press(site, consent))
    assert answer["state"] == "st-1"
    told = redeemed(site, app, answer["code"])
    got = site.http.get(
        "https://auth.example.com/v1/oauth/userinfo",
        headers={"Authorization": f"Bearer {told['access_token']}"},
    ).json
    assert (got["email"], got["email_verified"]) == (ADDRESS, True)


def test_a_known_person_needs_no_page_of_ours(corp):
    fake, site = corp
    app = application(site, first_party=True)
    site.user(ADDRESS, confirmed=True)
    first = back(site, fake, to_provider(site, authorize(site, app, provider="corp")))
    done = follow(site, send(first, "/connect", password=PASSWORD))
    assert answer_of(done)["code"]
    site.http.reset()
    url = to_provider(site, authorize(site, app, provider="corp", state="st-2"))
    assert hint(url) is None
    answer = answer_of(back(site, fake, url))
    assert answer["state"] == "st-2"
    assert answer["code"].startswith("ac_")


def test_who_is_signed_in_does_not_go_there_again_unless_the_application_asks(corp):
    fake, site = corp
    app = application(site)
    known(site, fake, app)
    url = to_provider(site, authorize(site, app, provider="corp"))
    assert answer_of(back(site, fake, url))["code"]
    assert answer_of(authorize(site, app, provider="corp", state="st-2"))["state"] == "st-2"
    again = authorize(site, app, provider="corp", prompt="login", state="st-3")
    assert answer_of(back(site, fake, to_provider(site, again)))["state"] == "st-3"


def test_without_a_session_prompt_none_does_not_lead_to_the_provider(corp):
    _, site = corp
    answer = authorize(site, application(site), provider="corp", prompt="none")
    assert answer_of(answer)["error"] == "login_required"


@pytest.mark.parametrize("length", [0, 1500], ids=["short", "stored"])
def test_two_tabs_come_back_each_to_its_own_application(corp, length):
    """The ways do not replace each other; a long ``next`` is stored for each."""
    fake, site = corp
    wiki = application(site, name="Wiki", first_party=True)
    shop = application(
        site, name="Shop", first_party=True, redirect_uris=["https://shop.example.org/back"]
    )
    known_as = application(site)
    known(site, fake, known_as)
    states = {app: name + "x" * length for app, name in ((wiki, "wiki"), (shop, "shop"))}
    urls = {
        app: to_provider(site, authorize(site, app, provider="corp", state=states[app]))
        for app in (wiki, shop)
    }
    for app in (shop, wiki):  # the later one first
        done = back(site, fake, urls[app])
        assert target_of(done).startswith(app.redirect_uri)
        assert answer_of(done)["state"] == states[app]
        assert redeemed(site, app, answer_of(done)["code"])["id_token"]


def test_in_another_browser_the_return_reaches_no_application(corp):
    fake, site = corp
    app = application(site)
    url = to_provider(site, authorize(site, app, provider="corp"))
    other = TestApp(site.app, extra_environ={"REMOTE_ADDR": "192.0.2.1"})
    refused = other.get(fake.authorize(url), status=400)
    assert app.redirect_uri not in refused.text


@pytest.mark.parametrize("error", ["access_denied", "server_error"])
@pytest.mark.parametrize("length", [0, 1500], ids=["short", "stored"])
def test_after_a_cancellation_each_way_on_leads_to_the_application(corp, error, length):
    fake, site = corp
    ann = site.user(ADDRESS, confirmed=True)
    app = application(site, first_party=True)
    state = "s" * (length or 4)
    fake.return_error = error
    url = to_provider(site, authorize(site, app, provider="corp", state=state))
    page = site.http.get(fake.authorize(url), status=(400, 503)[error == "server_error"])
    again, others = (each["href"] for each in page.html.select("main a.button"))
    assert app.redirect_uri not in page.html.select_one("main").get_text()

    form = next(iter(site.http.get(BASE + again).forms.values()))
    fake.return_error = None
    there = form.submit(status=200).html.select_one("a.button.primary")["href"]
    step = back(site, fake, there)
    assert answer_of(follow(site, send(step, "/connect", password=PASSWORD)))["state"] == state

    site.http.reset()
    login = site.http.get(BASE + others)
    form = next(each for each in login.forms.values() if "password" in each.fields)
    form["username"], form["password"] = ann.email, PASSWORD
    assert answer_of(follow(site, form.submit(status="*")))["state"] == state


def test_a_person_whom_the_site_does_not_take_can_choose_another_way_to_the_application(corp):
    fake, site = corp
    app = application(site)
    fake.claims |= {"email": "eve@elsewhere.example"}
    closed = Site(
        site.url, **settings_of([(fake, {"trust-email": "on"})]), **OPENID, registration="off"
    )
    url = to_provider(closed, authorize(closed, app, provider="corp"))
    page = closed.http.get(fake.authorize(url), status=403)
    _, others = (each["href"] for each in page.html.select("main a.button"))
    assert urlsplit(others).path == "/login"
    assert app.client_id in others
    closed.database.dispose()
