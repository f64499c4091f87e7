"""A person signs in with a certified provider on another site, in Chromium and through TLS.

authsite is at ``https://auth.example.test`` and the provider at ``https://localhost``, so that
browsers send authsite's cookies with the return as `SameSite` says.
"""

import re

import pytest

from tests.conftest import need
from tests.providers.people import users
from tests.support import browsers, databases, nginx
from tests.support.certificates import Authority
from tests.support.front import Front
from tests.support.real_provider import CLIENT, installed, real_provider
from tests.support.servers import free_port, serving, write_ini
from tests.support.site import PASSWORD, Site
from tests.support.visitor import Visitor
from tests.support.world import AUTH

pytestmark = pytest.mark.slow

ORIGIN = f"https://{AUTH}"
RETURN = f"{ORIGIN}/login/with/corp/return"
IDP = re.compile(r"https://localhost:\d+/")


class Servers:
    """authsite with the provider ``corp``, behind nginx; ``site`` reads its database."""

    def __init__(self, folder, authority, issuer):
        self.authority, self.folder = authority, folder
        self.front = Front(folder / "nginx", authority.sign(AUTH), free_port(), free_port())
        self.port = free_port()
        self.front.authsite(AUTH, "authsite", [self.port])
        url = databases.migrated(databases.new_url("sqlite", folder, "providers"))
        self.site = Site(url)
        corp = {
            "client-id": CLIENT["id"],
            "client-secret": CLIENT["secret"],
            "issuer": issuer,
            "label": "Corp",
            "trust-email": "on",
        }
        self.ini = write_ini(
            folder,
            url,
            base_url=ORIGIN,
            trusted_proxies="127.0.0.1",
            mail_driver="file",
            mail_folder=folder / "mail",
            providers="corp",
            **{f"providers.corp.{key}": value for key, value in corp.items()},
        )


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    need(nginx.available(), "nginx")
    need(installed(), "Node.js with oidc-provider (npm ci --prefix tests/system/node)")
    folder = tmp_path_factory.mktemp("providers")
    authority = Authority(folder)
    with real_provider(folder, authority.sign("localhost"), RETURN) as issuer:
        servers = Servers(folder, authority, issuer)
        trust = {"SSL_CERT_FILE": str(authority.path)}
        with serving(servers.ini, port=servers.port, **trust), servers.front.running():
            yield servers
    servers.site.database.dispose()


@pytest.fixture(scope="module")
def chromium(servers, playwright):
    """A browser that trusts both servers, and finds authsite by its name."""
    home = servers.folder / "home"
    with browsers.chromium(playwright, home, servers.authority, front=servers.front) as browser:
        yield browser


@pytest.fixture
def visitor(new_context):
    """A factory of people, each with a separate browser."""
    return lambda: Visitor(new_context(), None)


def go_to_provider(person, page=None):
    """Press the button on the login page; the page between leads on by itself."""
    page = page or person.page
    page.goto(f"{ORIGIN}/login")
    page.get_by_role("button", name="Continue with Corp").click()
    page.wait_for_url(IDP)


def sign_in_there(page, email, *, consents=True):
    """Sign in at the provider, which asks a person for consent the first time in a browser."""
    page.locator("[name=login]").fill(email)
    page.locator("[name=password]").fill("anything")
    page.get_by_role("button", name="Sign-in").click()
    if consents:
        page.get_by_role("button", name="Continue").click()


def test_a_new_user_is_created_and_known_the_next_time(visitor, servers):
    ann, again = visitor(), visitor()
    go_to_provider(ann)
    sign_in_there(ann.page, "ann@example.com")
    ann.sees("Create account")
    ann.send("/login/with/corp/create")
    ann.at("/account")
    ann.sees("ann@example.com")

    go_to_provider(again)
    with again.page.expect_request(lambda request: request.url.startswith(RETURN)) as returned:
        sign_in_there(again.page, "ann@example.com")
    again.at("/account")
    assert len(users(servers.site)) == 1

    answer = again.page.goto(returned.value.url)  # the same return once more
    assert answer.status == 400
    again.sees("was used")
    assert ann.page.goto(returned.value.url).status == 400  # in another browser


def test_an_account_that_is_there_is_linked_after_its_password(visitor, servers):
    owner = servers.site.user("owner@example.com", confirmed=True)
    owner_page, again = visitor(), visitor()
    go_to_provider(owner_page)
    sign_in_there(owner_page.page, owner.email)
    owner_page.sees("You have an account already")
    assert not owner_page.opens_account()
    owner_page.page.go_back()
    answer = owner_page.send("/login/with/corp/connect", password="not the password")
    assert answer.status == 422
    owner_page.send("/login/with/corp/connect", password=PASSWORD)
    owner_page.at("/account")

    go_to_provider(again)
    sign_in_there(again.page, owner.email)
    again.at("/account")
    again.sees(owner.email)


def test_a_signed_in_user_links_the_provider_on_the_account_page(visitor, servers):
    user = servers.site.user("linker@example.com", confirmed=True)
    person, again = visitor(), visitor()
    person.go("/login")
    person.sign_in(user.email, PASSWORD)
    person.at("/account")
    person.go("/account/security")
    person.send("/login/with/corp", current_password=PASSWORD)
    person.page.wait_for_url(IDP)
    sign_in_there(person.page, "another-address@example.com")
    person.at("/account/security")
    person.sees("another-address@example.com")

    go_to_provider(again)
    sign_in_there(again.page, "another-address@example.com")
    again.at("/account")
    again.sees(user.email)


def test_two_tabs_come_back_one_after_the_other(visitor, servers):
    servers.site.user("tabs@example.com", confirmed=True)
    person = visitor()
    first, second = person.page, person.page.context.new_page()
    go_to_provider(person, first)
    go_to_provider(person, second)
    sign_in_there(first, "tabs@example.com")
    first.get_by_text("You have an account already").first.wait_for()
    sign_in_there(second, "tabs@example.com", consents=False)
    second.get_by_text("You have an account already").first.wait_for()
    person.send("/login/with/corp/connect", password=PASSWORD)
    person.at("/account")


def test_a_person_who_cancels_there_is_led_to_the_other_ways(visitor):
    person = visitor()
    go_to_provider(person)
    person.page.get_by_text("Cancel").click()
    person.page.get_by_role("link", name="Other ways to sign in").click()
    person.at("/login")
    assert not person.opens_account()
