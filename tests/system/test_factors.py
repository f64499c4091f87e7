"""Second factors in Chromium and through TLS, from an installed wheel on two machines."""

import pytest

from tests.support import browsers
from tests.support.member import CODES, Member
from tests.support.site import PASSWORD
from tests.support.visitor import Mailbox
from tests.support.world import AUTH

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def program():
    """In a whole run the whole Chromium, as people have it."""
    return browsers.AS_PEOPLE_HAVE_IT


@pytest.fixture
def member(new_context, world, watch):
    """A factory of people without an account yet."""
    mailbox = Mailbox(watch, world.mailbox, AUTH)
    return lambda **options: Member(new_context(**options), mailbox)


def test_a_new_user_reaches_a_protected_page_in_four_screens(member):
    ann = member()
    screens = []
    ann.page.on("framenavigated", lambda frame: screens.append(frame.url))
    ann.go("/account/security")  # leads to the first screen, the login page
    ann.at("/login")
    ann.page.locator("main a[href*='/register']").first.click()
    ann.at("/register")
    ann.register()
    ann.confirm_by_code()
    ann.at("/account/security")
    assert len(screens) <= 4, screens
    assert ann.page.context.pages == [ann.page]


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_an_authenticator_app_from_setting_it_up_to_removing_it(member, script):
    ann = member(java_script_enabled=script)
    ann.new_account()
    ann.add_app()
    ann.at("/account/security")
    assert len(set(ann.recovery_codes)) == CODES
    ann.sign_out()

    # The password alone opens nothing.
    ann.sign_in_again()
    ann.at("/login/factor")
    assert not ann.opens_account()
    ann.sign_in_again()
    ann.at("/login/factor")
    assert ann.send("/login/factor", code="000000").status == 422
    ann.page.locator("[name=remember_browser]").check()
    ann.send("/login/factor", code=ann.code())
    ann.at("/account")

    # This browser is remembered: no code.
    ann.sign_out()
    ann.sign_in_again()
    ann.at("/account")

    # Forgotten: a code again, a recovery code this time, in lower case and without hyphens.
    ann.go("/account/security")
    ann.send("/account/factors/browsers")
    ann.at("/account/security")
    assert ann.section("/account/factors/browsers").count() == 0
    ann.sign_out()
    ann.sign_in_again()
    ann.at("/login/factor")
    ann.use_another_way("recovery_code")
    used = ann.recovery_codes[0]
    ann.send("/login/factor", code=used.lower().replace("-", ""))
    ann.at("/account")
    ann.sign_out()
    ann.sign_in_again()
    ann.at("/login/factor")
    ann.use_another_way("recovery_code")
    assert ann.send("/login/factor", code=used).status == 422
    ann.send("/login/factor", code=ann.recovery_codes[1])
    ann.at("/account")

    # Removed, with the codes of the last factor: the password is enough.
    ann.go("/account/security")
    removal = "/account/factors/totp/remove"
    ann.send(removal, **ann.asked(removal, current_password=PASSWORD))
    ann.at("/account/security")
    assert ann.section("/account/factors/totp/remove").count() == 0
    assert ann.section("/account/factors/codes").count() == 0
    ann.sign_out()
    ann.sign_in_again()
    ann.at("/account")
    assert ann.opens_account()


def test_adding_the_first_factor_ends_the_other_sign_ins(member):
    ann, elsewhere = member(), member()
    elsewhere.email = ann.email
    ann.new_account()
    elsewhere.sign_in_again()
    elsewhere.at("/account")
    ann.add_app()
    assert ann.opens_account()
    assert not elsewhere.opens_account()


def test_a_thief_of_the_password_cannot_add_a_factor(member):
    """Without the mailed code, which only the owner gets, a stolen password adds nothing."""
    ann, thief = member(), member()
    thief.email = ann.email
    ann.new_account()
    thief.sign_in_again()
    thief.at("/account")
    thief.go("/account/factors/totp")
    answer = thief.send("/account/factors/totp", current_password=PASSWORD, mail_code="BCDF-GHJK")
    assert answer.status == 422
    assert thief.page.locator(".key").count() == 0
