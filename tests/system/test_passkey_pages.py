"""Passkeys in Chromium with a virtual authenticator, through TLS, on two machines."""

import pytest

from tests.support import browsers
from tests.support.member import CODES, Member
from tests.support.site import PASSWORD
from tests.support.virtual_keys import VirtualKeys
from tests.support.visitor import Mailbox
from tests.support.world import AUTH

pytestmark = pytest.mark.slow

WITHOUT_VERIFICATION = """(id) => {
  const container = navigator.credentials, get = container.get.bind(container);
  const bytes = Uint8Array.from(atob(id), (char) => char.charCodeAt(0));
  const allowed = { type: "public-key", id: bytes };
  const changed = { userVerification: "discouraged", allowCredentials: [allowed] };
  container.get = ({ publicKey }) => get({ publicKey: { ...publicKey, ...changed } });
}"""


@pytest.fixture(scope="module")
def program():
    """In a whole run the whole Chromium, as people have it."""
    return browsers.AS_PEOPLE_HAVE_IT


@pytest.fixture
def ann(new_context, world, watch):
    """A person who is signed in to a new account."""
    ann = Member(new_context(), Mailbox(watch, world.mailbox, AUTH))
    ann.new_account()
    return ann


def add_passkey(ann, keys, name=""):
    """Add a passkey on the pages; the recovery codes that come with the first factor are kept."""
    is_first = not ann.recovery_codes
    ann.go("/account/factors/passkeys")
    ann.send("/account/factors/passkeys", current_password=PASSWORD)
    keys.answer(present=True)
    answer = ann.send("/account/factors/passkeys/add", name=name)
    assert answer.status < 400, ann.page.locator("main").inner_text()
    keys.answer(present=False)
    if is_first:
        ann.keep_codes()
    ann.at("/account/security")


def by_passkey(ann, keys, query=""):
    """Sign in with the button of the login page; the server's answer."""
    ann.go(f"/login{query}")
    ann.page.wait_for_load_state("networkidle")  # the request of the field waits already
    # The button is there as soon as the script has run.
    ann.page.locator("#passkey button").wait_for()
    return touched_for(ann, keys)


def touched_for(ann, keys):
    """Press the button, and touch the key until the form is sent; the server's answer.

    If it were touched for longer, it would answer the field of a login page that comes next.
    """

    def is_sent(route):
        keys.answer(present=False)
        route.continue_()

    ann.page.route("**/login/passkey", is_sent, times=1)
    keys.answer(present=True)
    return ann.send("/login/passkey")


def test_a_passkey_signs_in_with_one_press_until_it_is_removed(ann):
    keys = VirtualKeys(ann.page)
    add_passkey(ann, keys, "Ann’s laptop")
    assert len(ann.recovery_codes) == CODES
    [held] = keys.held()
    assert held["rpId"] == AUTH
    assert held["isResidentCredential"] is True
    ann.sees("Ann’s laptop")

    ann.sign_out()
    by_passkey(ann, keys, "?next=/account/security")
    ann.at("/account/security")

    # The password remains a way, and alone: a passkey is asked for after it only if wanted.
    ann.sign_out()
    ann.sign_in_again()
    ann.at("/account")

    by_passkey(ann, keys, "?prompt=login&next=/account/security")
    ann.at("/account/security")
    ann.page.locator("summary:has(+ form[action$='/remove'])").first.wait_for()
    removed = ann.section("/account/factors/passkeys/").locator("visible=false").last
    path = removed.get_attribute("action").removeprefix(ann.prefix)
    ann.send(path, **ann.asked(path, current_password=PASSWORD))
    ann.at("/account/security")
    assert ann.section("/account/factors/passkeys/").count() == 0
    ann.sign_out()
    assert by_passkey(ann, keys).status == 422
    assert not ann.opens_account()


def test_the_field_for_the_name_offers_the_passkey(ann):
    """Conditional mediation: chosen in the field, without the button."""
    keys = VirtualKeys(ann.page)
    add_passkey(ann, keys)
    ann.sign_out()
    ann.go("/login")
    assert "webauthn" in ann.page.locator("[name=username]").get_attribute("autocomplete")
    ann.go("/password/forgot")  # a page without such a field, which would be answered as well
    keys.answer(present=True)
    with ann.page.expect_response("**/login/passkey") as answered:
        ann.go("/login")
    assert answered.value.status == 303
    ann.at("/account")


def test_a_key_that_cannot_tell_its_user_works_only_after_the_password(ann):
    keys = VirtualKeys(ann.page, verifies=False)
    add_passkey(ann, keys, "Key")
    choice = "/account/factors/after-password"
    ann.send(choice, **ann.asked(choice, current_password=PASSWORD))
    ann.at("/account/security")
    ann.sign_out()

    # Chromium asks for verification, since we do; the key cannot.
    ann.go("/login")
    ann.page.locator("#passkey button").wait_for()
    keys.answer(present=True)
    ann.page.locator("#passkey button").click()
    ann.page.locator("#passkey [data-said]").filter(has_text="password").wait_for()
    keys.answer(present=False)
    # What another script has it sign without verification, the server refuses.
    [held] = keys.held()
    ann.page.evaluate(WITHOUT_VERIFICATION, held["credentialId"])
    assert touched_for(ann, keys).status == 422
    assert not ann.opens_account()

    ann.sign_in_again()
    ann.at("/login/factor")
    keys.answer(present=True)
    ann.send("/login/factor")
    ann.at("/account")
    assert ann.opens_account()
