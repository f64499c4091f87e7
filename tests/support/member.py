"""A person with an account and second factors, in a browser. No words are read."""

from datetime import timedelta
from uuid import uuid4

import pyotp

from authsite.platform.runtime import clock
from tests.support.site import PASSWORD
from tests.support.visitor import Visitor
from tests.support.world import AUTH

CODES = 8
_STEP = timedelta(seconds=30)


class Member(Visitor):
    """A `Visitor` who has an address, and what proves who they are: see the methods."""

    def __init__(self, context, mailbox, host=AUTH, prefix=""):
        super().__init__(context, mailbox, host, prefix)
        self.email = f"ann-{uuid4().hex[:12]}@example.com"
        self.secret, self.recovery_codes, self._last = None, [], None

    def register(self):
        """By the form of the page to register, which is open; waits for the next page."""
        self.send("/register", email=self.email, password=PASSWORD)
        self.page.locator("form[action$='/register/code']").wait_for()

    def confirm_by_code(self):
        """Enter the code that was mailed after registering, in the same tab."""
        self.send("/register/code", code=self.mailbox.code(self.email))

    def new_account(self):
        """Register and confirm, and be signed in."""
        self.go("/register")
        self.register()
        self.confirm_by_code()
        self.at("/account")

    def sign_in_again(self):
        """Give the password at the login page."""
        self.go("/login")
        return self.sign_in(self.email, PASSWORD)

    def sign_out(self):
        """Sign out; the browser keeps its other cookies."""
        self.go("/account")
        self.send("/logout")
        self.at("/")

    def add_app(self):
        """Set an authenticator app up on the pages; at the end its recovery codes are shown."""
        self.go("/account/factors/totp")
        self.send("/account/factors/totp", current_password=PASSWORD)
        self.confirm_app("/account/factors/totp/confirm")

    def confirm_app(self, path):
        """Read the key that the page shows, and enter the first code in the form to ``path``."""
        self.secret = self.page.locator(".key").text_content().replace(" ", "")
        self.send(path, code=self.code())
        self.keep_codes()

    def code(self):
        """A code of the app that was not used before."""
        app, moment = pyotp.TOTP(self.secret), clock.now()
        step = app.timecode(moment)
        if self._last is not None and step <= self._last:
            # The clock of the app may be half a minute ahead.
            step, moment = step + 1, moment + _STEP
        assert self._last is None or step > self._last, "both codes of this moment are used"
        self._last = step
        return app.at(moment)

    def keep_codes(self):
        """Note the recovery codes that the page shows, and go on."""
        shown = self.page.locator(".codes li")
        shown.first.wait_for()
        self.recovery_codes = shown.all_inner_texts()
        self.page.locator("[name=saved]").check()
        self.send("/login/factor/done")

    def use_another_way(self, method):
        """Follow the link to this method."""
        self.page.locator(f"a[href*='method={method}']").click()
        self.page.locator(f"input[name=method][value={method}]").wait_for(state="attached")

    def section(self, path):
        """The folded form of the account page that is sent to ``path``."""
        return self.page.locator(f"form[action*='{path}']")
