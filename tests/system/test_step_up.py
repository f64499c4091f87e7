"""Pages of an application that need a second factor, or a recent proof: by our pages, and back."""

import pytest
from sqlalchemy import create_engine, text

from tests.support.member import Member
from tests.support.shop import PREFIX
from tests.support.site import PASSWORD
from tests.support.visitor import Mailbox
from tests.support.world import SHOP

pytestmark = pytest.mark.slow

VAULT, PAYOUT = f"https://{SHOP}/vault", f"https://{SHOP}/payout"


@pytest.fixture
def ann(new_context, world, watch):
    """A customer of the application, signed in."""
    context = new_context(SHOP)
    ann = Member(context, Mailbox(watch, world.shop_mailbox, SHOP), SHOP, f"/{PREFIX}")
    ann.new_account()
    return ann


def opens(ann, url):
    """Whether this page is shown, now."""
    ann.page.goto(url)
    return ann.page.url == url


def an_hour_passes(world):
    """Every sign-in at the application is an hour older."""
    engine = create_engine(world.shop_url)
    with engine.begin() as connection:
        older = "UPDATE web_sessions SET auth_at = auth_at - interval '1 hour'"
        connection.execute(text(older))
    engine.dispose()


def test_a_page_for_two_factors_leads_to_adding_one_and_back(ann):
    assert not opens(ann, VAULT)
    ann.at("/account/factors")
    ann.page.locator("a[href*='/account/factors/totp']").click()
    ann.at("/account/factors/totp")
    ann.send("/account/factors/totp", current_password=PASSWORD)
    ann.confirm_app("/account/factors/totp/confirm")
    ann.page.wait_for_url(VAULT)
    ann.sees(f"Vault of {ann.email}")


def test_a_remembered_browser_is_asked_for_the_code_by_such_a_page(ann):
    ann.add_app()
    ann.sign_out()
    ann.sign_in_again()
    ann.page.locator("[name=remember_browser]").check()
    ann.send("/login/factor", code=ann.code())
    ann.at("/account")
    assert opens(ann, VAULT)
    ann.sign_out()
    ann.sign_in_again()
    ann.at("/account")
    assert not opens(ann, VAULT)
    ann.at("/login/verify")
    # Only what is missing: no password.
    assert ann.page.locator("[name=current_password]").count() == 0
    ann.use_another_way("recovery_code")
    assert ann.send("/login/verify", code="A" * 24).status == 422
    ann.send("/login/verify", code=ann.recovery_codes[0])
    ann.page.wait_for_url(VAULT)


def test_a_page_for_a_recent_proof_asks_for_everything(ann, world):
    ann.add_app()
    assert opens(ann, PAYOUT)
    an_hour_passes(world)
    assert opens(ann, VAULT)  # the level does not age
    assert not opens(ann, PAYOUT)
    ann.at("/login/verify")
    former = session_key(ann)
    code = ann.code()
    assert ann.send("/login/verify", current_password="not this one", code=code).status == 422
    # A right code is not used up beside a wrong password.
    ann.send("/login/verify", current_password=PASSWORD, code=code)
    ann.page.wait_for_url(PAYOUT)
    assert session_key(ann) != former


def session_key(ann):
    cookies = ann.page.context.cookies()
    [key] = [each["value"] for each in cookies if each["name"] == "__Host-authsite"]
    return key
