"""Verifies access tokens by introspection (RFC 7662), and fails closed.

An accepted token is cached for some seconds, which is how long a revoked one may still pass.
"""

import asyncio
import json
import logging
import math
import os
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote_plus, urlencode

from . import clock
from .bearer import check_token, read_bearer
from .breaker import Breaker
from .cache import IdentityCache, Outage, Outcome, key_of
from .connections import Connections, Request, Response, Service
from .errors import InvalidToken, Unavailable, Unreachable
from .identity import Identity, Resource, read_identity

_log = logging.getLogger("authsite_client")
TIMEOUT = 3.0  # seconds, unless the `Service` says otherwise
THREADS = 8  # for tasks of asyncio; each makes one request at a time


class Verifier:
    """Tells whom an access token belongs to. Threads and tasks of asyncio may share one.

    ``client_id`` and ``client_secret`` are those of a client of type ``resource-server``. ``cache``
    is in seconds, 0 switches it off. With ``verified`` a user must have confirmed the e-mail
    address; the token of a client passes, unless `Identity.require_user` is called. With
    ``audience`` only tokens for this resource are accepted, whose URI is written as it was
    registered (`authsite resource add`); without it, and without the ``resource`` of a middleware,
    only those that are for none. Nothing is sent before the first token is verified.
    """

    def __init__(
        self,
        service: str | Service,
        client_id: str,
        client_secret: str,
        cache: float = 5.0,
        max_entries: int = 10_000,
        *,
        verified: bool = False,
        audience: str | None = None,
    ) -> None:
        if not client_id or not client_secret:
            raise ValueError("the verifier needs the id and the secret of a resource-server client")
        if not (0 <= cache < math.inf) or max_entries < 1:
            raise ValueError("cache is a number of seconds, max_entries at least 1")
        self._service = Service.of(service, TIMEOUT)
        self._connections = Connections(self._service)
        self._headers = {
            "Authorization": basic(client_id, client_secret),
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
        }
        self._cache_settings = (cache, max_entries)
        self._verified, self._audience = verified, audience
        self._reset()

    def verify(self, token: str, scope: str = "", *, resource: Resource | None = None) -> Identity:
        """Whom ``token`` belongs to, if it has all of ``scope`` (separated by spaces).

        With a ``resource`` it must be for that one. Raises `InvalidToken`, `InsufficientScope` and
        `Unavailable`, and with ``verified`` `EmailNotVerified`.
        """
        return self._verify(check_token(token), scope, resource)

    async def verify_async(
        self, token: str, scope: str = "", *, resource: Resource | None = None
    ) -> Identity:
        """Like `verify`, without blocking the event loop."""
        return await self._verify_async(check_token(token), scope, resource)

    def verify_header(
        self,
        authorization: str | None,
        scope: str = "",
        *,
        resource: Resource | None = None,
    ) -> Identity:
        """Like `verify`, for the value of an Authorization header; also raises `MissingToken`."""
        return self._verify(read_bearer(authorization), scope, resource)

    async def verify_header_async(
        self,
        authorization: str | None,
        scope: str = "",
        *,
        resource: Resource | None = None,
    ) -> Identity:
        """Like `verify_header`, without blocking the event loop."""
        return await self._verify_async(read_bearer(authorization), scope, resource)

    def close(self) -> None:
        """Close the idle connections, and end the threads; tasks get `Unavailable` from then on."""
        self._executor.shutdown()
        self._connections.close()

    def _reset(self) -> None:
        """What a process cannot take over from the one that it was forked from."""
        self._cache = IdentityCache(*self._cache_settings)
        self._breaker = Breaker(self._service.timeout)
        self._executor = ThreadPoolExecutor(THREADS, "authsite-verifier")
        self._process = os.getpid()

    def _verify(self, token: str, scope: str, resource: Resource | None) -> Identity:
        key = key_of(token)
        identity = self._cache.find(key) or self._introspected(key, token)
        self._check(identity, scope, resource)
        return identity.of_token(self, token, resource)

    async def _verify_async(self, token: str, scope: str, resource: Resource | None) -> Identity:
        key = key_of(token)
        identity = self._cache.find(key) or await self._introspected_async(key, token)
        self._check(identity, scope, resource)
        return identity.of_token(self, token, resource)

    def _check(self, identity: Identity, scope: str, resource: Resource | None) -> None:
        if resource is not None:
            resource.check(identity)
        if self._audience is None:
            # A token for a resource opens that alone (RFC 8707, section 2).
            if identity.audience and resource is None:
                raise InvalidToken
        elif self._audience not in identity.audience:
            raise InvalidToken
        identity.require(scope)
        if self._verified:
            identity.require_verified()

    def _introspected(self, key: bytes, token: str) -> Identity:
        if self._process != os.getpid():
            self._reset()
        cache = self._cache
        flight, first = cache.join(key)
        if first:
            self._run(cache, key, token)
        return _accepted(flight.result())

    async def _introspected_async(self, key: bytes, token: str) -> Identity:
        if self._process != os.getpid():
            self._reset()
        cache = self._cache
        flight, first = cache.join(key)
        if first:
            try:
                self._executor.submit(self._run, cache, key, token)
            except RuntimeError:  # closed, or the interpreter ends
                cache.finish(key, Outage(1), clock.monotonic())
        return _accepted(await asyncio.wrap_future(flight))

    def _run(self, cache: IdentityCache, key: bytes, token: str) -> None:
        """Introspect ``token`` for everyone who waits for it, also if this thread is ended."""
        outcome: Outcome = Outage(1)
        since = clock.monotonic()
        try:
            outcome = self._introspect(token)
        finally:
            cache.finish(key, outcome, since)

    def _introspect(self, token: str) -> Outcome:
        pause = self._breaker.enter()
        if pause:
            return Outage(pause)
        retry_after = None
        try:
            response = self._connections.send(self._request(token))
            retry_after = response.retry_after
            identity = _read(response)
        except (Unreachable, ValueError, RecursionError) as error:
            pause = self._breaker.failed(retry_after)
            _log.warning("Introspection failed, so requests get 503: %s", error)
            return Outage(pause)
        if self._breaker.succeeded():
            _log.warning("Introspection works again.")
        return identity

    def _request(self, token: str) -> Request:
        form = urlencode({"token": token, "token_type_hint": "access_token"})
        return Request("POST", "/v1/oauth/introspect", self._headers, form.encode())


def basic(client_id: str, client_secret: str) -> str:
    """The Authorization header of a client (RFC 6749, section 2.3.1)."""
    both = f"{quote_plus(client_id)}:{quote_plus(client_secret)}"
    return f"Basic {b64encode(both.encode()).decode()}"


def _read(response: Response) -> Identity | None:
    if response.status == 401:
        raise ValueError("authsite does not accept the id and secret of this verifier")
    if response.status != 200:
        raise ValueError(f"authsite answered with status {response.status}")
    return read_identity(json.loads(response.body))


def _accepted(outcome: Outcome) -> Identity:
    if isinstance(outcome, Outage):
        raise Unavailable(max(1, math.ceil(outcome.pause)))
    if outcome is None:
        raise InvalidToken
    return outcome
