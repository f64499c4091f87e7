"""Sign-in with the authorization code grant, for a web application with a secret.

RFC 6749, section 4.1, with PKCE (RFC 7636) and the issuer in the answer (RFC 9207); OpenID Connect
Core 1.0, section 3.1.
"""

import hashlib
import re
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

from . import clock
from .client import Client
from .connections import Request, Service
from .errors import LoginFailed, Unreachable
from .id_token import Expected, check_claims, claims_without_signature
from .responses import read_json
from .tokens import Tokens

SESSION_KEY = "authsite_login"
MAX_STARTED = 5  # tabs of one browser that sign in at the same time; the oldest start is forgotten
MAX_AGE = 3600  # seconds between the start and the return
# A path of this application, which no browser reads as another host's.
_LOCAL = re.compile(r"/(?!/)[^\x00-\x20\x7f\\]*")
_TEXT = re.compile(r"[\x20-\x7e]{1,2048}")


class BrowserSession(Protocol):
    """What is used of the session that the framework keeps for a browser: the values are JSON."""

    def get(self, key: str, default: Any = None, /) -> Any: ...

    def __setitem__(self, key: str, value: Any, /) -> None: ...


class Query(Protocol):
    """The parameters of a request's query."""

    def get(self, key: str, /) -> str | None: ...


@dataclass(frozen=True)
class SignedIn:
    """A user who has signed in.

    ``sub`` is the user's id, which never changes: **know users by this one**. ``claims`` are those
    of the userinfo endpoint and of the ID token. ``next`` is the path that was given to
    `CodeLogin.login_url`, or ``/``.
    """

    sub: str
    claims: Mapping[str, Any]
    tokens: Tokens = field(repr=False)
    id_token: str = field(repr=False)
    next: str = "/"

    @property
    def email(self) -> str | None:
        """The e-mail address, if it is confirmed."""
        return self.claims.get("email") if self.claims.get("email_verified") is True else None


class CodeLogin:
    """A client of type ``server`` and the address that its users come back to.

    ``redirect_uri`` is that address, as it is registered. ``service`` is authsite's base URL; if
    the application reaches authsite at another address than browsers do, ``issuer`` is the base
    URL of the browsers. Threads may share one. Nothing is sent before `callback`. Raises ValueError
    for a ``scope`` without ``openid``.

    The ID token comes directly from authsite through TLS, so its claims are checked and its
    signature is not (OpenID Connect Core 1.0, section 3.1.3.7, number 6). The module ``oidc``
    checks that, too.
    """

    def __init__(
        self,
        service: str | Service,
        client_id: str,
        client_secret: str,
        redirect_uri: str,
        *,
        scope: str = "openid profile email",
        issuer: str = "",
    ) -> None:
        if "openid" not in scope.split():
            raise ValueError("a sign-in needs the scope openid")
        self.client = Client(service, client_id, client_secret)
        self.client_id = client_id
        self.redirect_uri = redirect_uri
        self.scope = scope
        url = service if isinstance(service, str) else service.url
        self.issuer = (issuer or url).rstrip("/")

    def login_url(
        self,
        session: BrowserSession,
        next: str | None = "/",
        *,
        max_age: int | None = None,
        **parameters: str,
    ) -> str:
        """Where to send the browser to sign in.

        ``next`` is the path of this application to show afterwards; anything that is not one, such
        as a whole URL, is replaced by ``/``. ``max_age`` is how long ago the user may have
        signed in, in seconds. ``parameters`` are more ones of the authorization request:
        ``prompt``, ``acr_values``, ``login_hint``, ``ui_locales``, ``provider``, ``resource``.
        `callback` compares ``max_age`` and ``acr_values`` with the ID token.
        """
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        start = {
            "nonce": nonce,
            "verifier": verifier,
            "next": next if next and _LOCAL.fullmatch(next) else "/",
            "at": int(clock.time()),
            "max_age": max_age,
            "acr_values": parameters.get("acr_values", ""),
        }
        started = [*_started(session).items(), (state, start)]
        session[SESSION_KEY] = dict(started[-MAX_STARTED:])
        digest = hashlib.sha256(verifier.encode()).digest()
        query = {
            **parameters,
            **({} if max_age is None else {"max_age": str(max_age)}),
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "scope": self.scope,
            "state": state,
            "nonce": nonce,
            "code_challenge": urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        return f"{self.issuer}/oauth/authorize?{urlencode(query)}"

    def callback(self, session: BrowserSession, query: Query) -> SignedIn:
        """The user who comes back to the redirect URI with ``query``.

        Raises `LoginFailed` if the user or authsite has refused, if this browser did not start
        the sign-in, or if it is older or of a lower level than was asked for; `ApiError` and
        `Unreachable` if authsite does not redeem the code.
        """
        start = self._start_of(session, query)
        if query.get("iss") != self.issuer:  # RFC 9207, section 2.4: authsite always sends it
            raise LoginFailed("wrong_issuer", "The answer is not from the expected server.")
        if error := query.get("error"):
            raise LoginFailed(_text(error), _text(query.get("error_description")))
        code = query.get("code")
        if not code:
            raise LoginFailed("invalid_answer", "The answer has no code.")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": start["verifier"],
        }
        tokens, id_token = self.client.redeem(form)
        expected = Expected(
            self.issuer,
            self.client_id,
            start["nonce"],
            start.get("max_age"),
            start.get("acr_values", ""),
        )
        claims = check_claims(self.read_id_token(id_token), expected)
        about = self.userinfo(tokens.access_token)
        if about.get("sub") != claims["sub"]:  # OpenID Connect Core 1.0, section 5.3.2
            raise LoginFailed("invalid_answer", "The user of the ID token is another one.")
        # What is signed, and about this sign-in, counts before what the endpoint says.
        return SignedIn(claims["sub"], {**about, **claims}, tokens, id_token, start["next"])

    def logout_url(self, id_token: str = "", back: str = "") -> str:
        """Where to send the browser to end its session at authsite, too.

        End the session of the application first. With the ``id_token`` of the sign-in the browser
        comes back without a question. ``back`` is a registered post-logout redirect URI.
        """
        query = {
            "id_token_hint": id_token,
            "client_id": self.client_id,
            "post_logout_redirect_uri": back,
        }
        sent = {name: value for name, value in query.items() if value}
        return f"{self.issuer}/oauth/logout?{urlencode(sent)}"

    def userinfo(self, access_token: str) -> dict[str, Any]:
        """What authsite says about the user now. Raises `ApiError` and `Unreachable`."""
        headers = {"Authorization": f"Bearer {access_token}", "Accept": "application/json"}
        request = Request("GET", "/v1/oauth/userinfo", headers)
        found = read_json(self.client.connections.send(request))
        if not isinstance(found, dict):
            raise Unreachable("the userinfo response is not an object")
        return found

    def read_id_token(self, id_token: str) -> dict[str, Any]:
        """The claims of an ID token. Raises `LoginFailed` for what is none."""
        return claims_without_signature(id_token)

    def close(self) -> None:
        """Close the idle connections."""
        self.client.close()

    def _start_of(self, session: BrowserSession, query: Query) -> dict[str, Any]:
        """The start that this answer belongs to, which is forgotten."""
        started = _started(session)
        start = started.pop(query.get("state") or "", None)
        if start is None:
            raise LoginFailed(
                "unknown_state",
                "This browser did not start the sign-in, or it took too long. Sign in again.",
            )
        session[SESSION_KEY] = started
        return start


def _started(session: BrowserSession) -> dict[str, dict[str, Any]]:
    """The sign-ins that this browser has started and not finished, oldest first."""
    started = session.get(SESSION_KEY) or {}
    oldest = clock.time() - MAX_AGE
    return {state: start for state, start in started.items() if start["at"] >= oldest}


def _text(value: str | None) -> str:
    """A value of the query that may be shown and logged (RFC 6749, section 4.1.2.1)."""
    return value if value and _TEXT.fullmatch(value) else ""
