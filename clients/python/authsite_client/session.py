"""A login that stays usable: its access token is refreshed in time, once for all threads."""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextvars import ContextVar
from threading import Lock
from typing import Protocol, TypedDict, cast

from . import clock
from .connections import Connections, Request, Response
from .errors import InvalidGrant, TemporarilyUnavailable, TooManyAttempts, Unreachable
from .responses import read_json
from .tokens import Tokens, expired

PAUSE = 5.0  # seconds until the next try to refresh a token that is about to expire
# The renewal whose ``save`` runs. Unlike the id of a thread it reaches coroutines that it calls.
_saving: ContextVar["Future[Tokens] | None"] = ContextVar("authsite_saving", default=None)


class User(TypedDict):
    """The user object of the API; times are text (RFC 3339)."""

    id: str
    email: str
    username: str | None
    phone: str | None
    name: str | None
    confirmed: bool
    email_verified_at: str | None
    created_at: str
    updated_at: str


class SessionClient(Protocol):
    """The part of a `Client` that its sessions need."""

    connections: Connections

    def refresh(self, refresh_token: str) -> Tokens:
        """The next pair; see `Client.refresh`."""

    def revoke(self, token: str) -> None:
        """End the login of the token; see `Client.revoke`."""


class Session:
    """Calls authsite's API, and has an access token for other services.

    Threads may share a session, processes may not: each would use up the other's refresh token.
    Without ``tokens`` the session logs in, by ``log_in``, when a token is first needed.
    """

    def __init__(
        self,
        client: SessionClient,
        tokens: Tokens | None,
        save: Callable[[Tokens], None] | None = None,
        log_in: Callable[[], Tokens] | None = None,
    ) -> None:
        self._client = client
        self._tokens = tokens
        self._save = save
        self._log_in = log_in
        self._lock = Lock()
        self._renewal: Future[Tokens] | None = None
        self._unsaved: Tokens | None = None
        self._retry_at = 0.0
        self.recovery_codes: tuple[str, ...] = ()
        """Made with a second factor that the user added at this login: show them to the user, who
        finds them nowhere else."""
        self.id_token: str | None = None
        """The ID token of this login, as it came, if the scope had ``openid``."""

    @property
    def tokens(self) -> Tokens | None:
        """The present pair; None before the first use of `Client.login_as_client`."""
        return self._tokens

    def access_token(self, rejected: str | None = None) -> str:
        """An access token that does not expire in the next seconds; renews it when it is time.

        ``rejected`` is a token that a service has answered with 401, although it had not expired:
        it was revoked. If it is still the present one it is renewed, once for all threads. Raises
        `InvalidGrant` when the login has ended: log in again.
        """
        tokens = self._current()
        if rejected is not None and tokens.access_token == rejected:
            tokens = self._renew(tokens)
        return tokens.access_token

    def request(self, method: str, path: str, body: Mapping[str, object] | None = None) -> object:
        """Call authsite's API at ``path`` (``/v1/…``) with a JSON ``body``; returns JSON.

        After a 401 the tokens are refreshed, and the request is sent once more; but not if the user
        has to log in again for it (RFC 9470). Raises `ApiError` and `Unreachable`.
        """
        tokens = self._current()
        response = self._send(tokens, method, path, body)
        challenges = ",".join(response.headers.get_all("WWW-Authenticate", ()))
        if response.status == 401 and not needs_login(challenges):
            response = self._send(self._renew(tokens), method, path, body)
        return read_json(response)

    def user(self) -> User:
        """The user of this login."""
        return cast(User, self.request("GET", "/v1/user"))

    def logout(self) -> None:
        """End the login: all its tokens are revoked. Before the first use there are none."""
        if self._tokens is not None:
            self._client.revoke(self._tokens.refresh_token)

    def _current(self) -> Tokens:
        tokens = self._tokens
        if tokens is None:
            return self._renew(None)
        if clock.time() < tokens.refresh_at:
            return tokens
        if not expired(tokens) and clock.monotonic() < self._retry_at:
            return tokens
        try:
            return self._renew(tokens)
        except (Unreachable, TemporarilyUnavailable, TooManyAttempts):
            if expired(tokens):
                raise
            self._retry_at = clock.monotonic() + PAUSE
            return tokens

    def _renew(self, used: Tokens | None) -> Tokens:
        """The successor of ``used``: one thread gets it, the others wait for that thread.

        Raises RuntimeError in ``save``, which would wait for itself.
        """
        with self._lock:
            if self._tokens is not None and self._tokens is not used:
                return self._tokens
            first = self._renewal is None
            self._renewal = renewal = self._renewal or Future()
        if first:
            try:
                tokens = self._next_tokens(used, renewal)
            except BaseException as error:
                self._renewal = None
                renewal.set_exception(error)
                raise
            with self._lock:
                self._tokens, self._renewal = tokens, None
            renewal.set_result(tokens)
        elif _saving.get() is renewal:
            raise RuntimeError("save() may not use its session: take the tokens that it receives")
        return renewal.result()

    def _next_tokens(self, used: Tokens | None, renewal: "Future[Tokens]") -> Tokens:
        # A pair that could not be saved is saved at the next call; its predecessor is used up.
        self._unsaved = self._unsaved or self._issued(used)
        if self._save:
            before = _saving.set(renewal)
            try:
                self._save(self._unsaved)
            finally:
                _saving.reset(before)
        tokens, self._unsaved = self._unsaved, None
        return tokens

    def _issued(self, used: Tokens | None) -> Tokens:
        if used is not None:
            try:
                return self._client.refresh(used.refresh_token)
            except InvalidGrant:
                if not self._log_in:
                    raise
        if not self._log_in:
            raise ValueError("a session without tokens needs a way to log in")
        return self._log_in()

    def _send(
        self, tokens: Tokens, method: str, path: str, body: Mapping[str, object] | None
    ) -> Response:
        headers = {"Authorization": f"Bearer {tokens.access_token}", "Accept": "application/json"}
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body).encode()
        repeatable = method in ("GET", "HEAD")
        return self._client.connections.send(Request(method, path, headers, content, repeatable))


def needs_login(challenges: str) -> bool:
    """Whether the login is too old: so are all tokens that a refresh gets (RFC 9470, section 3).

    ``challenges`` is the value of ``WWW-Authenticate``.
    """
    return 'error="insufficient_user_authentication"' in challenges
