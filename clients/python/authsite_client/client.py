"""A client of authsite: its logins, and the requests of its tokens (RFC 6749, RFC 7009)."""

import math
from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from . import clock
from .connections import Connections, Request, Service
from .errors import Unreachable
from .responses import read_json
from .session import Session
from .tokens import Tokens, read_id_token, read_tokens
from .verifier import basic

TIMEOUT = 10.0  # seconds, unless the `Service` says otherwise: a login computes a password hash
# Seconds for a refresh. It is repeated once, which has to arrive within authsite's `refresh-grace`.
REFRESH_TIMEOUT = 4.0

Save = Callable[[Tokens], None]


class Client:
    """An application with its id and secret. Threads may share it.

    All methods raise `ApiError` (its subclasses for what can be told apart) and `Unreachable`.
    ``save`` receives each new pair of tokens before it is used, to store it. It may not use the
    session. Nothing is sent before a method needs it.
    """

    def __init__(self, service: str | Service, client_id: str, client_secret: str) -> None:
        self.connections = Connections(Service.of(service, TIMEOUT))
        self._headers = {
            "Authorization": basic(client_id, client_secret),
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
        }

    def login(
        self, username: str, password: str, scope: str = "", save: Save | None = None
    ) -> Session:
        """Log a user in by password (a client of type ``password``)."""
        form = {"grant_type": "password", "username": username, "password": password}
        tokens = self._tokens({**form, "scope": scope})
        if save:
            save(tokens)
        return Session(self, tokens, save)

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
        body = urlencode({name: value for name, value in form.items() if value}).encode()
        request = Request("POST", path, self._headers, body, repeatable, timeout)
        return read_json(self.connections.send(request))
