"""A person with a browser and a mailbox, at the pages of the service. No words are read."""

import re
import time

from tests.support.mails import text_of
from tests.support.world import AUTH

_LINK = re.compile(r"^https?://\S+$", re.MULTILINE)
_CODE = re.compile(r"^\s*([B-Z]{4}-[B-Z]{4})\s*$", re.MULTILINE)


class Mailbox:
    """What a service mailed; every link in it is looked at by ``watch``."""

    def __init__(self, watch, folder, host):
        self._watch, self._folder, self._host = watch, folder, host
        self._unread = []

    def link(self, address, part):
        """The link with ``part`` in it from the next mail to ``address`` that has one."""

        def found(mail):
            link = _LINK.search(text_of(mail))
            return link and part in link[0] and link[0]

        return self._next(address, found, f"mail with {part}")

    def code(self, address):
        """The code in the next mail to ``address`` that has one."""

        def found(mail):
            code = _CODE.search(text_of(mail))
            return code and code[1]

        return self._next(address, found, "mail with a code")

    def _next(self, address, find, what, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._unread += self._watch.mails(self._folder, self._host)
            for mail in self._unread:
                if mail["To"] == address and (found := find(mail)):
                    self._unread.remove(mail)
                    return found
            time.sleep(0.1)
        raise AssertionError(f"no {what} came to {address}")


class Visitor:
    """A person at ``https://{host}{prefix}``."""

    def __init__(self, context, mailbox, host=AUTH, prefix=""):
        self.page, self.mailbox = context.new_page(), mailbox
        self.origin, self.prefix = f"https://{host}", prefix

    def go(self, path):
        """Open a page of ours."""
        return self.page.goto(f"{self.origin}{self.prefix}{path}")

    def asked(self, path, **fields):
        """Those of ``fields`` that the form sent to ``path`` has."""
        form = self.page.locator(f'form[action$="{self.prefix}{path}"]').first
        return {
            name: value for name, value in fields.items() if form.locator(f"[name={name}]").count()
        }

    def send(self, path, **fields):
        """Fill in the form that is sent to ``path``, and press its button; waits for the next page.

        The answer alone is not enough: a script may send the form after the click, and `go`
        would meet the navigation that this answer still makes.
        """
        action = f"{self.prefix}{path}"
        having = "".join(f':has([name="{name}"])' for name in fields)
        form = self.page.locator(f'form[action$="{action}"]{having}').first
        form.evaluate(
            "(form) => { const part = form.closest('details'); if (part) part.open = 1; }"
        )
        for name, value in fields.items():
            form.locator(f"[name={name}]").fill(value)
        button = form.locator("button:not([type=button]):not([formaction]):not([form])").first
        arrived = self.page.expect_event("framenavigated", self._is_main)
        answered = self.page.expect_response(
            lambda answer: answer.request.method == "POST" and answer.url.endswith(action)
        )
        with arrived, answered as answer:
            button.click()
        return answer.value

    def _is_main(self, frame):
        return frame == self.page.main_frame

    def at(self, path):
        """Wait until the browser has arrived at ``path`` (a pattern); the address must be ours."""
        self.page.wait_for_url(
            re.compile(f"{re.escape(self.origin + self.prefix)}{path}([?#].*)?$")
        )

    def sees(self, text):
        """Wait until the page shows ``text``."""
        self.page.get_by_text(text).locator("visible=true").first.wait_for()

    def sign_in(self, email, password):
        """By the form of the login page, which is open."""
        return self.send("/login", username=email, password=password)

    def opens_account(self):
        """Whether this browser is signed in."""
        self.go("/account")
        return self.page.url.startswith(f"{self.origin}{self.prefix}/account")
