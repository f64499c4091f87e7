"""A command-line tool signs in with authsite-client, while its user is at two browsers."""

import queue
from concurrent.futures import ThreadPoolExecutor

import pytest

from authsite_client import Client, Service
from tests.support import databases
from tests.support.devices import tool
from tests.support.servers import OWN_ADDRESS, serving, write_ini
from tests.support.site import PASSWORD, Site
from tests.system.browser.axe import violations_in_both_schemes
from tests.system.browser.gallery import CUT
from tests.system.browser.people import EMAIL, Person


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """``(origin, site)``: a server that signs Ann in for programs."""
    folder = tmp_path_factory.mktemp("device")
    url = databases.migrated(databases.new_url("sqlite", folder, "device"))
    site = Site(url)
    site.user(EMAIL, confirmed=True)
    with serving(write_ini(folder, url), **OWN_ADDRESS) as http:
        yield str(http.base_url).rstrip("/"), site
    site.database.dispose()


def sign_in(person):
    person.fill(username=EMAIL, password=PASSWORD)
    person.press("Sign in")


def looked_at(person):
    return [*violations_in_both_schemes(person.page), *person.page.evaluate(CUT)]


@pytest.mark.control("X07")
def test_a_tool_gets_its_tokens_when_one_of_two_windows_allows_it(new_context, served):
    origin, site = served
    desk = Person(new_context(), origin, None)
    phone = Person(new_context(viewport={"width": 320, "height": 640}), origin, None)
    shown = queue.Queue()
    service = Service(origin, allow_http=True)
    client = Client(service, tool(site, name="Tool").client_id)
    with ThreadPoolExecutor(1) as pool:
        login = pool.submit(client.device_login, "openid email", show=shown.put)
        code = shown.get(timeout=30)
        desk.go("/device")
        sign_in(desk)
        desk.fill(user_code="BBBB-BBBB")
        desk.press("Continue")
        desk.sees("not right")
        desk.fill(user_code=code.code.lower().replace("-", " "))
        desk.press("Continue")
        desk.sees("Did you start this?")
        wrong = looked_at(desk)

        phone.page.goto(code.url_with_code)
        sign_in(phone)
        assert phone.page.locator("#user_code").input_value() == code.code
        wrong += looked_at(phone)
        phone.press("Continue")
        phone.sees("Did you start this?")
        phone.sees(code.code)
        wrong += looked_at(phone)
        phone.press("Allow")
        phone.sees("You can close this window")
        session = login.result(timeout=60)
        desk.press("Allow")
        desk.sees("used before")
    assert session.access_token().startswith("at_")
    assert session.id_token
    assert wrong == []
    client.close()
