"""What new users get wrong, in Chromium: a mistyped address, a change of address, an intruder."""

import re

import pytest

from tests.support.mails import text_of
from tests.system.browser.people import EMAIL, PASSWORD, SECOND, Person, pages_server

NEW = "ann@elsewhere.example"
VARIANTS = {
    "A": {},
    "B": {"variant": "B", "require_email_confirmation": "true"},
}
YOUNG = {"email_revert_min_age": "0s"}  # the account of the test is some seconds old


@pytest.fixture(scope="module", params=VARIANTS)
def server(request, tmp_path_factory):
    with pages_server(
        tmp_path_factory.mktemp("changed"), **VARIANTS[request.param], **YOUNG
    ) as served:
        yield served


def link_to(person, address, path):
    """The link to ``path`` in the next mail to ``address`` that has one."""
    while True:
        for mail in person.mail():
            found = re.search(rf"^\S+{re.escape(path)}/\S+$", text_of(mail), re.MULTILINE)
            if mail["To"] == address and found:
                return found[0]


def confirm(person, address, heading):
    person.page.goto(link_to(person, address, "/email/verify"))
    person.press("Confirm address")
    person.sees(heading)


def request_change(person):
    person.go("/account")
    person.change("E-mail address")
    form = person.page.locator("form[action$='/account/email']")
    form.locator("[name=email]").fill(NEW)
    form.locator("[name=current_password]").fill(PASSWORD)
    person.press("Send link to new address")
    person.sees(f"Almost done: open the link that we sent to {NEW}")


def test_a_mistyped_address_and_an_intruder_who_changes_it(server, new_context):
    ann, eve = (Person(new_context(), *server) for _ in range(2))

    ann.go("/register?next=/account")
    ann.fill(email="ann@exmaple.com", password=PASSWORD)
    ann.press("Create account")
    ann.sees("We sent you a link. It works for 1 hour.")
    ann.sees("ann@exmaple.com")
    ann.follow("Change the address")
    assert ann.page.locator("[name=email]").input_value() == "ann@exmaple.com"
    ann.fill(email=EMAIL, password=PASSWORD)
    ann.page.clock.install()
    ann.press("Create account")
    ann.sees("We sent you a link.")
    link_to(ann, EMAIL, "/email/verify")  # lost
    ann.page.clock.run_for(30_000)
    ann.press("Send it again")
    ann.sees("If this address still needs confirming")
    ann.page.goto(link_to(ann, EMAIL, "/email/verify"))
    ann.press("Confirm address")
    ann.at("/account")  # the browser that registered is signed in

    request_change(ann)
    ann.press("Cancel the change")
    ann.sees("The change of your e-mail address is canceled.")
    request_change(ann)
    ann.page.goto(link_to(ann, EMAIL, "/email/change/cancel"))
    assert ann.page.url.rpartition("/")[2] in ("cancel", "revert")
    ann.press("Cancel the change")
    ann.sees(f"Your account keeps the address {EMAIL}")

    eve.sign_in()
    eve.at("/account")
    request_change(eve)
    confirm(eve, NEW, "Your e-mail address was changed")
    eve.sees("You were signed out everywhere else.")
    ann.page.goto(link_to(ann, EMAIL, "/email/change/revert"))
    assert ann.page.url.rpartition("/")[2] in ("cancel", "revert")
    ann.press("Take the change back")
    ann.sees(f"Your account has the address {EMAIL} again")
    eve.go("/account")
    eve.at("/login")
    ann.page.goto(link_to(ann, EMAIL, "/password/reset"))
    ann.fill(password=SECOND)
    ann.press("Change password")
    ann.follow("Sign in")
    assert ann.page.locator("[name=username]").input_value() == EMAIL
    ann.fill(password=SECOND)
    ann.press("Sign in")
    ann.at("/account")
    ann.sees(EMAIL)
    assert ann.troubles == []
    assert eve.troubles == []
