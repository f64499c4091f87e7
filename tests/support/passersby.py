"""People without a browser: by the calls of the API from outside, and by an operator's commands."""

import pyotp

from authsite.platform.runtime import clock
from tests.support.site import PASSWORD, bearer

_LOGIN = "/v1/clients/web/login"


class Passersby:
    """People of a `World`, each call from a separate network address."""

    password = PASSWORD

    def __init__(self, world, mailbox):
        self.world, self.mailbox = world, mailbox
        self._codes = {}  # recovery codes

    def register(self, email):
        """Without a confirmed address."""
        self.world.register(email)

    def confirm(self, email):
        """Mark the address as confirmed."""
        self.command("user", "confirm", email)

    def command(self, *words):
        """A command of the first machine's operator."""
        self.world.auth[0].run("authsite", *words, "--config", "production.ini")

    def add_app(self, email):
        """Set an authenticator app up."""
        headers = bearer(self.sign_in(email))
        with self.world.client() as http:
            _checked(http.post("/v1/user/mail-code", headers=headers))
            proof = {"current_password": PASSWORD, "mail_code": self.mailbox.code(email)}
            begun = _checked(http.post("/v1/user/totp", json=proof, headers=headers)).json()
            code = pyotp.TOTP(begun["secret"]).at(clock.now())
            body = {"enrollment": begun["enrollment"], "code": code}
            added = _checked(http.post("/v1/user/totp/confirm", json=body, headers=headers)).json()
            self._codes[email] = added["recovery_codes"]

    def sign_in(self, email, second=False):
        """An access token; ``second``: also with a recovery code."""
        given = {"username": email, "password": PASSWORD}
        if second:
            given["otp"] = self._codes[email].pop()
        with self.world.client() as http:
            return _checked(http.post(_LOGIN, json=given)).json()["access_token"]

    def try_sign_in(self, email, password=PASSWORD):
        """The status of the answer."""
        with self.world.client() as http:
            answer = http.post(_LOGIN, json={"username": email, "password": password})
            return answer.status_code

    def lock_out(self, email):
        """Guess passwords until it takes no more."""
        while self.try_sign_in(email, "wrong horse battery") != 429:
            pass

    def is_signed_in(self, token):
        """Whether the access token works."""
        with self.world.client() as http:
            return http.get("/v1/user", headers=bearer(token)).is_success


def _checked(answer):
    assert answer.is_success, answer.text
    return answer
