"""The states of a change of address, for the gallery."""

import re

from tests.support.mails import text_of
from tests.system.browser.people import PASSWORD, SECOND

EMAIL = "maximiliane.hohenlohe-langenburg@a-rather-long-name.example.com"
NEW_EMAIL = "maximiliane@another-rather-long-name.example.org"


def pending(ann):
    ann.go("/account")
    ann.change("E-mail address")
    form = ann.page.locator("form[action$='/account/email']")
    form.locator("[name=email]").fill(NEW_EMAIL)
    form.locator("[name=current_password]").fill(PASSWORD)
    ann.press("Send link to new address")
    ann.sees("Almost done: open the link that we sent to")


def _links(ann, address, path):
    """The links of the next mail to ``address`` that has one to ``path``."""
    while True:
        for mail in ann.mail():
            links = re.findall(r"^https?://\S+$", text_of(mail), re.MULTILINE)
            if mail["To"] == address and any(path in link for link in links):
                return links


def _link(ann, address, path):
    return next(link for link in _links(ann, address, path) if path in link)


def changed_address(ann):
    """Changes of address: canceled, declined and confirmed; then an intruder, and the way back."""
    pending(ann)
    ann.page.goto(_link(ann, EMAIL, "/email/change/cancel/"))
    yield "cancel-change"
    ann.press("Cancel the change")
    ann.page.locator(".emblem.done").wait_for()
    yield "cancel-change-done"
    pending(ann)
    links = _links(ann, NEW_EMAIL, "/email/change/cancel/")
    for name, path in {"decline-change": "/cancel/", "verify-change": "/verify/"}.items():
        ann.page.goto(next(link for link in links if path in link))
        yield name
    ann.press("Confirm address")
    ann.page.locator(".emblem.done").wait_for()
    yield "verify-change-done"
    revert = _link(ann, EMAIL, "/email/change/revert/")
    ann.go("/account")
    yield "account-changed"
    ann.page.context.clear_cookies()
    ann.page.context.set_extra_http_headers({"X-Forwarded-For": "198.51.100.9"})
    ann.sign_in(PASSWORD, NEW_EMAIL)
    ann.at("/account")
    yield "account-undo-notice"
    ann.page.goto(_link(ann, NEW_EMAIL, "/login/not-me/"))
    yield "not-me"
    ann.press("Sign out everywhere")
    ann.page.locator("[name=password]").wait_for()
    yield "not-me-password"
    ann.fill(password=SECOND)
    ann.press("Change password")
    ann.page.locator(".emblem.done").wait_for()
    yield "not-me-done"
    ann.page.goto(revert)
    yield "revert-change"
    ann.press("Take the change back")
    ann.page.locator(".emblem.done").wait_for()
    yield "revert-change-done"
    ann.go("/email/link")
    ann.fill(email=EMAIL)
    ann.press("Send the link")
    ann.page.locator(".emblem.mail").wait_for()
    yield "link-sent"
