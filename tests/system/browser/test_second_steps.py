"""The demo of the web client at a login with a second step, and the client alone."""

import time
from email import policy
from email.parser import BytesParser

import pyotp
import pytest

from authsite.platform.runtime import clock
from tests.support import factors
from tests.support.mails import text_of
from tests.support.site import PASSWORD
from tests.support.walk_mfa import MAILED
from tests.system.browser.web import Tabs, web_server

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def with_app(tmp_path_factory):
    """A server where Ann has an authenticator app; her recovery codes."""
    with web_server(tmp_path_factory.mktemp("steps")) as (origin, site):
        with site.db() as db:
            ann = db.query(factors.User).filter_by(email="ann@example.com").one()
        yield origin, site, factors.add_totp(site, ann)


@pytest.fixture(scope="module")
def required(tmp_path_factory):
    """A server that requires a second factor, and sends mail to a folder."""
    folder = tmp_path_factory.mktemp("required")
    settings = {"mail_driver": "file", "mail_folder": folder / "mail"}
    with web_server(folder, second_factor="required", **settings) as (origin, site):
        yield origin, site, folder / "mail"


def begin(new_context, origin):
    """The page /app, after the right password."""
    page = new_context().new_page()
    problems = []
    page.on("console", lambda each: problems.append(each.text) if "Policy" in each.text else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.problems = problems
    page.goto(f"{origin}/app")
    page.locator("#login [name=username]").fill("ann@example.com")
    page.locator("#login [name=password]").fill(PASSWORD)
    page.locator("#login button.primary").click()
    page.locator("#step").wait_for()
    return page


def give(page, code):
    page.locator("#step [name=code]").fill(code)
    page.locator("#step button.primary").click()


def test_the_demo_asks_for_a_code(new_context, with_app):
    origin, _site, recovery = with_app
    page = begin(new_context, origin)
    assert not page.locator("#enroll").is_visible()
    assert not page.locator("#mail-code").is_visible()
    give(page, "000000")
    page.locator("#problem", has_text="This code is not right.").wait_for()
    give(page, recovery[0])
    page.locator("#greeting", has_text="ann@example.com").wait_for()
    assert not page.locator("#step").is_visible()
    page.reload()
    page.locator("#account").wait_for()
    assert page.problems == []


def test_the_client_tells_what_is_needed(new_context, with_app):
    origin, _site, _recovery = with_app
    tabs = Tabs(new_context(), origin)
    page = tabs.open()
    error = page.evaluate(f"outcome(auth.login('ann@example.com', '{PASSWORD}'))")
    assert (error["code"], error["step"]["enroll"]) == ("mfa_required", False)
    assert error["step"]["methods"] == ["totp", "recovery_code"]
    assert page.evaluate("auth.signedIn") is False
    code = factors.code_now()
    page.evaluate(f"outcome(auth.login('ann@example.com', '{PASSWORD}', '{code}'))")
    assert page.evaluate("auth.signedIn") is True


def test_the_demo_adds_an_app_where_one_is_required(new_context, required):
    origin, _site, mails = required
    page = begin(new_context, origin)
    page.locator("#mail-code").click()
    page.locator("#problem", has_text="We have sent you a code.").wait_for()
    give(page, mailed_code(mails))
    page.locator("#enroll svg").wait_for()
    secret = page.locator("#secret").inner_text().replace(" ", "")
    give(page, pyotp.TOTP(secret).at(clock.now()))
    page.locator("#codes").wait_for()
    assert len(page.locator("#recovery-codes").inner_text().split()) == 8
    assert page.locator("#account").is_visible()
    assert page.problems == []


def mailed_code(folder):
    """The code in the newest mail, as soon as it is there."""
    for _ in range(200):
        for path in sorted(folder.glob("*"), key=lambda each: each.stat().st_mtime, reverse=True):
            mail = BytesParser(policy=policy.default).parsebytes(path.read_bytes())
            if found := MAILED.findall(text_of(mail)):
                return found[0]
        time.sleep(0.1)
    raise AssertionError("no code was mailed")
