"""What a provider publishes about itself: discovery and keys, which a process keeps for an hour."""

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from structlog import get_logger

from authsite.platform.context import Services
from authsite.platform.registrations import Registered
from authsite.platform.runtime import clock
from authsite.platform.settings.sections.providers import TENANT, Provider
from authsite.platform.settings.urls import host_of, is_loopback, web_url

from . import people
from .exchange import Exchange, text_in
from .failures import ProviderFailure, ProviderRefused

# The issuer of a provider: where its discovery is, and what its ID tokens must name.
#
# Microsoft Entra's endpoints for several directories announce an issuer with ``{tenantid}``,
# which the directory of each user replaces ("Access tokens in the Microsoft identity platform",
# "Validate the issuer": https://learn.microsoft.com/en-us/entra/identity-platform/access-tokens).


_DISCOVERY = "/.well-known/openid-configuration"


def discovery_url(provider: Provider) -> str:
    """The address of the discovery document (OpenID Connect Discovery 1.0, section 4)."""
    return provider.issuer.replace(TENANT, "common").rstrip("/") + _DISCOVERY


def issuer_failure(provider: Provider, claims: Mapping[str, Any]) -> ProviderFailure | None:
    """Why an ID token is not of this provider; None if it is.

    With several directories the issuer must be that of the token's own ``tid``. A template accepts
    every directory, so ``tid`` is compared with `tenants`.
    """
    issuer, tenant = text_in(claims, "iss") or "", text_in(claims, "tid") or ""
    expected = provider.announced_issuer.replace(TENANT, tenant)
    if issuer != expected or not provider.issues(issuer):
        return ProviderFailure.ISSUER
    listed = not provider.tenants or "*" in provider.tenants or tenant in provider.tenants
    return None if listed else ProviderFailure.TENANT


log = get_logger("authsite.providers")

KEEP = timedelta(hours=1)
BETWEEN_REFETCHES = timedelta(minutes=1)
ALGORITHMS = ("RS256", "PS256", "ES256")
EVERY_PROVIDERS = "RS256"  # every provider has it (OpenID Connect Discovery 1.0, section 3)
Keys = Sequence[Mapping[str, Any]]
T = TypeVar("T")


class Discovery(NamedTuple):
    """What we read of a provider's discovery (OpenID Connect Discovery 1.0, section 3).

    ``algorithms``: those of `ALGORITHMS` that are announced. ``basic``: HTTP Basic authentication
    is announced. ``sends_issuer``: every return has ``iss`` (RFC 9207).
    """

    authorization_endpoint: str
    token_endpoint: str
    userinfo_endpoint: str | None
    jwks_uri: str
    algorithms: tuple[str, ...]
    basic: bool
    sends_issuer: bool


class _Fetched(NamedTuple):
    url: str
    value: Any
    at: datetime


class Documents:
    """The documents of one provider that this process keeps.

    No lock is held during a request: a provider that hangs must not hold more threads than it has
    slots.
    """

    def __init__(self) -> None:
        self._cached: dict[str, _Fetched] = {}
        self._refetched_at: datetime | None = None
        self._lock = threading.Lock()

    def discovery(self, exchange: Exchange) -> Discovery:
        """The discovery document, checked. Raises `ProviderRefused`."""
        url = discovery_url(exchange.provider)
        return self._get(
            "discovery", url, lambda: _checked(exchange.provider, exchange.document(url))
        )

    def keys(self, exchange: Exchange, url: str) -> Keys:
        """The provider's keys (RFC 7517) at ``url``. Raises `ProviderRefused`."""
        return self._get("keys", url, lambda: _keys(exchange, url))

    def newer_keys(self, exchange: Exchange, url: str) -> Keys:
        """The keys, fetched again for a ``kid`` that is unknown, once a minute at most."""
        now = clock.now()
        with self._lock:
            is_due = self._refetched_at is None or now >= self._refetched_at + BETWEEN_REFETCHES
            if is_due:
                self._refetched_at = now
        if not is_due:
            return self.keys(exchange, url)
        return self._fetch("keys", url, lambda: _keys(exchange, url))

    def _get(self, name: str, url: str, fetch: Callable[[], T]) -> T:
        now, cached = clock.now(), self._cached.get(name)
        if cached and cached.url == url and cached.at <= now < cached.at + KEEP:
            value: T = cached.value
            return value
        return self._fetch(name, url, fetch)

    def _fetch(self, name: str, url: str, fetch: Callable[[], T]) -> T:
        at = clock.now()
        value = fetch()
        self._cached[name] = _Fetched(url, value, at)
        return value


_DOCUMENTS = Registered[Documents]("documents of providers")


def documents_of(services: Services, provider: Provider) -> Documents:
    """The documents of a provider that this application keeps in this process."""
    return _DOCUMENTS.of(services).setdefault(provider.name, Documents())


def _keys(exchange: Exchange, url: str) -> Keys:
    found = exchange.document(url).get("keys")
    return [key for key in found if isinstance(key, dict)] if isinstance(found, list) else []


def _checked(provider: Provider, found: Mapping[str, Any]) -> Discovery:
    methods = _texts(found, "token_endpoint_auth_methods_supported")
    algorithms = _texts(found, "id_token_signing_alg_values_supported") or [EVERY_PROVIDERS]
    issuer, expected = text_in(found, "issuer"), provider.announced_issuer
    if issuer != expected:
        raise _unusable(provider, f"its issuer is {issuer!r}, and not {expected!r}")
    return Discovery(
        authorization_endpoint=_endpoint(provider, found, "authorization_endpoint"),
        token_endpoint=_endpoint(provider, found, "token_endpoint"),
        userinfo_endpoint=(
            _endpoint(provider, found, "userinfo_endpoint")
            if found.get("userinfo_endpoint") is not None
            else None
        ),
        jwks_uri=_endpoint(provider, found, "jwks_uri"),
        algorithms=tuple(each for each in ALGORITHMS if each in algorithms),
        basic="client_secret_basic" in methods,
        sends_issuer=found.get("authorization_response_iss_parameter_supported") is True,
    )


def _endpoint(provider: Provider, found: Mapping[str, Any], name: str) -> str:
    url = text_in(found, name) or ""
    if not is_endpoint(provider.issuer, url):
        raise _unusable(provider, f"its {name} is not an https URL")
    return url


def is_endpoint(issuer: str, url: str) -> bool:
    """Whether a provider may announce an endpoint: an https URL.

    Or one on loopback, if the issuer itself is there: any other provider could have us send
    requests, with the client secret, to programs of this machine.
    """
    try:
        if web_url(url).startswith("https:") and not is_loopback(host_of(url)):
            return True
        return is_loopback(host_of(url)) and is_loopback(host_of(issuer))
    except ValueError:
        return False


def _texts(found: Mapping[str, Any], name: str) -> list[str]:
    value = found.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _unusable(provider: Provider, cause: str) -> ProviderRefused:
    log.warning("provider_discovery_unusable", provider=provider.name, cause=cause)
    return ProviderRefused(ProviderFailure.DISCOVERY, provider, cause=cause)


# The addresses of a provider: from its discovery, or those of GitHub.


class Endpoints(NamedTuple):
    """Where to go and to ask. ``basic``: with HTTP Basic authentication.

    ``discovery`` is None for GitHub, which has no OpenID Connect.
    """

    provider: Provider
    authorization: str
    token: str
    basic: bool = False
    discovery: Discovery | None = None

    def returned_issuer(self, issuer: str | None) -> bool:
        """Whether a return may have this ``iss``, or none (RFC 9207, section 2.4)."""
        if self.discovery is None:
            return issuer is None or issuer in people.issuers(self.provider)
        if issuer is None:
            return not self.discovery.sends_issuer
        return self.provider.issues(issuer)


def endpoints_of(exchange: Exchange) -> Endpoints:
    """The addresses of the provider, which may be asked for them. Raises `ProviderRefused`."""
    provider = exchange.provider
    if provider.preset == "github":
        return Endpoints(
            provider, people.authorization_endpoint(provider), people.token_endpoint(provider)
        )
    found = documents_of(exchange.services, provider).discovery(exchange)
    return Endpoints(
        provider, found.authorization_endpoint, found.token_endpoint, found.basic, found
    )
