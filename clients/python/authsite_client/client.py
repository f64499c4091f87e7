"""A client of authsite: its logins, and the requests of its tokens (RFC 6749, RFC 7009)."""

import math
from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from . import clock
from .connections import Connections, Request, Service
from .device import DEVICE_GRANT, DeviceCode, read_device_code, show_code, wait_for_answer
from .errors import Unreachable
from .responses import read_json
from .second_steps import (
    MFA_GRANT,
    PASSKEY_GRANT,
    Enrollment,
    read_enrollment,
    read_recovery_codes,
)
from .session import Session
from .tokens import Tokens, read_id_token, read_optional_id_token, read_tokens
from .verifier import basic

TIMEOUT = 10.0  # seconds, unless the `Service` says otherwise: a login computes a password hash
# Seconds for a refresh. It is repeated once, which has to arrive within authsite's `refresh-grace`.
REFRESH_TIMEOUT = 4.0

Save = Callable[[Tokens], None]


class Client:
    """An application with its id and secret. Threads may share it.

    All methods raise `ApiError` (its subclasses for what can be told apart) and `Unreachable`.
    ``save`` receives each new pair of tokens before it is used, to store it. It may not use the
    session. Nothing is sent before a method needs it. A public client, such as one of type
    ``native``, has no secret.
    """

    def __init__(self, service: str | Service, client_id: str, client_secret: str = "") -> None:
        self.connections = Connections(Service.of(service, TIMEOUT))
        self._headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
        }
        self._public: dict[str, str] = {}
        if client_secret:
            self._headers["Authorization"] = basic(client_id, client_secret)
        else:
            self._public = {"client_id": client_id}

    def login(
        self,
        username: str,
        password: str,
        scope: str = "",
        save: Save | None = None,
        *,
        otp: str = "",
    ) -> Session:
        """Log a user in by password (a client of type ``password``).

        Raises `MfaRequired` where a second step is needed. ``otp``: a code of the user's second
        factor, where it is known already.
        """
        form = {"grant_type": "password", "username": username, "password": password}
        return self._begin({**form, "scope": scope, "otp": otp}, save)

    def second_step(
        self,
        mfa_token: str,
        method: str,
        code: str = "",
        *,
        credential: str = "",
        enrollment: str = "",
        save: Save | None = None,
    ) -> Session:
        """Go on with a login that raised `MfaRequired`, by one of its ``methods``.

        ``code``, or for a passkey ``credential``: the JSON text of the browser's
        ``credential.toJSON()``. ``enrollment``: with the first code of a new authenticator app,
        that of `enroll`; `Session.recovery_codes` are then to be shown. Raises `InvalidGrant`: with
        a code in ``errors`` the user may try again, without one the login has ended. Raises
        `MfaRequired` again where a factor must be added after a mailed code.
        """
        form = {"grant_type": MFA_GRANT, "mfa_token": mfa_token, "mfa_method": method}
        proof = {"code": code, "credential": credential, "enrollment": enrollment}
        return self._begin({**form, **proof}, save)

    def mail_code(self, mfa_token: str) -> None:
        """Have a code mailed, where ``email`` is among the methods of `MfaRequired`."""
        self._post("/v1/mfa/email", {"mfa_token": mfa_token}, repeatable=False)

    def enroll(self, mfa_token: str) -> Enrollment:
        """A new authenticator app, where `MfaRequired` has ``enroll``: show it to the user.

        Its first code goes on with the login: `second_step` with ``totp`` and ``enrollment``.
        """
        body = self._post("/v1/mfa/enroll", {"mfa_token": mfa_token}, repeatable=False)
        try:
            return read_enrollment(body)
        except ValueError as error:
            raise Unreachable(str(error)) from error

    def passkey_options(self) -> object:
        """What a browser needs for a sign-in by passkey, once, within ten minutes.

        It is for ``PublicKeyCredential.parseRequestOptionsFromJSON``.
        """
        return self._post("/v1/passkeys/options", {}, repeatable=False)

    def login_by_passkey(
        self, credential: str, scope: str = "", save: Save | None = None
    ) -> Session:
        """Sign a user in by a passkey alone; ``credential``: as of `second_step`."""
        form = {"grant_type": PASSKEY_GRANT, "credential": credential, "scope": scope}
        return self._begin(form, save)

    def device_login(
        self,
        scope: str = "openid",
        save: Save | None = None,
        *,
        show: Callable[[DeviceCode], object] = show_code,
        resource: str = "",
    ) -> Session:
        """Sign a user in from a program without a browser (a client of type ``native``).

        ``show`` gets the address and the code for the user; by default they are printed. The call
        waits until the user has allowed it in a browser. Raises `LoginFailed`, with the ``error``
        ``access_denied`` or ``expired_token``, if the user did not. The session has the scopes that
        the user allowed; with ``offline_access`` it outlives the user's session in the browser.
        """
        asked_at = clock.time()
        begin = {"scope": scope, "resource": resource}
        body = self._post("/v1/oauth/device", begin, repeatable=False)
        try:
            code = read_device_code(body, asked_at)
        except ValueError as error:
            raise Unreachable(str(error)) from error
        show(code)
        form = {"grant_type": DEVICE_GRANT, "device_code": code.device_code}
        return wait_for_answer(code, lambda: self._begin(form, save))

    def login_as_client(self, scope: str = "", save: Save | None = None) -> Session:
        """A session of the client itself (type ``personal``).

        It logs in when a token is first needed, so an application starts while authsite is away. It
        logs in again by itself when its refresh token is not active any more.
        """

        def log_in() -> Tokens:
            return self._tokens({"grant_type": "client_credentials", "scope": scope})

        return Session(self, None, save, log_in)

    def resume(self, tokens: Tokens, save: Save | None = None) -> Session:
        """A session of an earlier login, with stored tokens."""
        return Session(self, tokens, save)

    def refresh(self, refresh_token: str) -> Tokens:
        """The next pair; a refresh token that was used before ends the login (RFC 9700, 4.14).

        `Session` does this when it is time. authsite answers a repeated request with the same pair
        for some seconds. So this one has a short deadline, and is repeated once if its response is
        lost.
        """
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        try:
            return self._tokens(form, repeatable=True, timeout=REFRESH_TIMEOUT)
        except Unreachable:  # another idle connection may be as dead: this time a new one
            return self._tokens(form, timeout=REFRESH_TIMEOUT)

    def redeem(self, form: Mapping[str, str]) -> tuple[Tokens, str]:
        """The tokens for an authorization code (RFC 6749, section 4.1.3), and the ID token.

        `CodeLogin` does this. A code works once, so the request is sent once.
        """
        asked_at = clock.time()
        body = self._post("/v1/oauth/token", form, repeatable=False)
        try:
            return read_tokens(body, asked_at), read_id_token(body)
        except ValueError as error:
            raise Unreachable(str(error)) from error

    def revoke(self, token: str) -> None:
        """End the login that a token of this client belongs to (RFC 7009)."""
        self._post("/v1/oauth/revoke", {"token": token}, repeatable=True)

    def close(self) -> None:
        """Close the idle connections."""
        self.connections.close()

    def _begin(self, form: dict[str, str], save: Save | None) -> Session:
        asked_at = clock.time()
        body = self._post("/v1/oauth/token", form, repeatable=False)
        try:
            tokens, recovery_codes = read_tokens(body, asked_at), read_recovery_codes(body)
            id_token = read_optional_id_token(body)
        except ValueError as error:
            raise Unreachable(str(error)) from error
        if save:
            save(tokens)
        session = Session(self, tokens, save)
        session.recovery_codes = recovery_codes
        session.id_token = id_token
        return session

    def _tokens(
        self, form: dict[str, str], *, repeatable: bool = False, timeout: float = math.inf
    ) -> Tokens:
        asked_at = clock.time()
        body = self._post("/v1/oauth/token", form, repeatable=repeatable, timeout=timeout)
        try:
            return read_tokens(body, asked_at)
        except ValueError as error:
            raise Unreachable(str(error)) from error

    def _post(
        self, path: str, form: Mapping[str, str], *, repeatable: bool, timeout: float = math.inf
    ) -> object:
        sent = {**self._public, **form}
        body = urlencode({name: value for name, value in sent.items() if value}).encode()
        request = Request("POST", path, self._headers, body, repeatable, timeout)
        return read_json(self.connections.send(request))
