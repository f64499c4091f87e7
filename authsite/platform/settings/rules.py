"""A rule names one choice that is unsafe in production; `unsafe_choices` lists all of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from .agent_values import ALL_HOSTS
from .definition import PREFIX
from .definitions import Settings, documented_key
from .urls import LOOPBACK_NAME, host_of, is_address, is_loopback

Level = Literal["start", "refused", "required", "warned", "warned-in-production", "named"]
# What a rule does in addition to its line of `doctor`.
START: Level = "start"  # no application starts, with or without `production`
REFUSED: Level = "refused"  # with `production` no application starts; without it, a warning
REQUIRED: Level = "required"  # with `production` no application starts; without it, nothing
WARNED: Level = "warned"  # a warning at every start
WARNED_LATER: Level = "warned-in-production"  # a warning at every start with `production`
NAMED: Level = "named"  # nothing


@dataclass(frozen=True, slots=True)
class Rule:
    """One unsafe choice.

    ``found`` returns what is unsafe in the settings, or a false value. It replaces ``{found}`` in
    ``message``.
    """

    name: str
    attribute: str  # of `Settings`
    found: Callable[[Settings], object]
    message: str
    level: Level

    @property
    def key(self) -> str:
        """The key as the documentation writes it, with its prefix."""
        return documented_key(self.attribute)

    @property
    def subject(self) -> str:
        """The key without its prefix."""
        return subject(self.attribute)

    def broken_by(self, settings: Settings) -> str | None:
        """The message, or None if the choice is safe."""
        found = self.found(settings)
        return self.message.format(found=found) if found else None


def subject(attribute: str) -> str:
    """The key of an attribute without its prefix."""
    return documented_key(attribute).removeprefix(PREFIX)


# What to know of the settings about clients that no administrator has registered.


AGENT_RULES: tuple[Rule, ...] = (
    Rule(
        "client-registration-open",
        "client_registration",
        lambda s: s.client_registration == "open",
        "anyone can register a client under any name; users are told that it is not verified. With"
        " off only administrators register clients",
        NAMED,
    ),
    Rule(
        "client-id-documents-all",
        "client_id_documents",
        lambda s: ALL_HOSTS in s.client_id_documents,
        "any site can describe a client, and is asked when a user signs in to it; name the hosts"
        " if you know them",
        NAMED,
    ),
)


# The relying party of passkeys: its domain, and the origins that may use them.
#
# Web Authentication Level 3: sections 5.1.2 (relying party identifier), 5.11 (related origins)
# and 13.4.9 (validating the origin). Both come from the settings alone, never from a request.


# Domains of two labels below which anybody can register. Browsers have the whole Public Suffix
# List and refuse the others; these are the ones that a mistake most likely names.
_PUBLIC = frozenset(
    f"{first}.{last}"
    for last, firsts in {
        "uk": "co org ac gov me ltd plc net",
        "au": "com net org edu gov",
        "nz": "co net org ac govt",
        "za": "co org ac gov",
        "jp": "co ne or ac go",
        "kr": "co or ac go",
        "br": "com net org gov",
        "in": "co net org ac gov",
        "cn": "com net org edu gov",
        "tr": "com net org edu gov",
        "mx": "com org edu gob",
        "ar": "com org edu gob",
        "il": "co org ac gov",
        "at": "co or ac gv",
        "io": "github gitlab",
        "dev": "pages workers vercel",
        "app": "netlify vercel web fly railway",
        "com": "herokuapp appspot cloudfront onrender azurewebsites firebaseapp",
        "net": "azurewebsites cloudfront",
    }.items()
    for first in firsts.split()
)


class RelyingParty(NamedTuple):
    """The domain of the passkeys, and the origins that are compared whole.

    Without `base-url` the origins lack that of the local server, whose port the request's server
    knows; see `origins_of`.
    """

    id: str
    origins: tuple[str, ...]
    local: bool = False

    def origins_at(self, port: str | None) -> list[str]:
        """All origins that may use the passkeys; ``port``: on which this server listens."""
        if not self.local:
            return list(self.origins)
        ending = "" if port in (None, "", "80") else f":{port}"
        return [*self.origins, f"http://{LOOPBACK_NAME}{ending}"]


def relying_party(settings: Settings) -> RelyingParty | None:
    """The relying party; None where the settings allow none, see `passkey_obstacle`."""
    if passkey_obstacle(settings):
        return None
    if not settings.base_url:
        id = settings.passkey_rp_id or LOOPBACK_NAME
        return RelyingParty(id, settings.passkey_origins, local=True)
    own = (_origin(url) for url in settings.base_url if _is_secure(url))
    origins = tuple(dict.fromkeys((*own, *settings.passkey_origins)))
    return RelyingParty(settings.passkey_rp_id or host_of(settings.base_url[0]), origins)


def wrong_rp_id(settings: Settings) -> str | None:
    """Why `passkey-rp-id` cannot be the domain of passkeys; None if it is unset or right."""
    given = settings.passkey_rp_id
    return _problem(given, settings.base_url) if given else None


def passkey_obstacle(settings: Settings) -> str | None:
    """Why there are no passkeys here; None if there are."""
    if not settings.base_url:
        return wrong_rp_id(settings)
    given = settings.passkey_rp_id or host_of(settings.base_url[0])
    if problem := _problem(given, settings.base_url):
        return problem
    if not any(map(_is_secure, settings.base_url)):
        return "browsers use passkeys with https only (http on localhost alone)"
    return None


def _problem(rp_id: str, base_urls: Sequence[str]) -> str | None:
    if is_address(rp_id):
        return f"{rp_id} is an IP address, and passkeys need a domain"
    if rp_id in _PUBLIC or ("." not in rp_id and rp_id != LOOPBACK_NAME):
        return f"{rp_id} is not a domain that one can register"
    hosts = [host_of(url) for url in base_urls] or [LOOPBACK_NAME]
    for host in hosts:
        if host != rp_id and not host.endswith(f".{rp_id}"):
            return f"{rp_id} is neither the host of base-url nor a parent of it: {host}"
    return None


def _is_secure(url: str) -> bool:
    return url.startswith("https:") or is_loopback(host_of(url))


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


PASSKEY_RULES = (
    Rule(
        "passkey-rp-id-wrong",
        "passkey_rp_id",
        wrong_rp_id,
        "{found}: give the host of base-url or a parent of all its hosts, or leave it out",
        START,
    ),
    Rule(
        "passkeys-off",
        "passkey_rp_id",
        lambda s: "passkey" in s.factors and not s.passkey_rp_id and passkey_obstacle(s),
        "there are no passkeys: {found}; set base-url or passkey-rp-id to a domain, or remove"
        " passkey from factors",
        WARNED,
    ),
)
