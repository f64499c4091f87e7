"""The options of a guarded route, and the checks of their values at start-up.

A wrong option must not open a route. So each value is checked when the route is added, and the
combination of all options when the application starts.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from pyramid.config import Configurator, not_
from pyramid.events import ApplicationCreated
from pyramid.exceptions import ConfigurationError
from pyramid.interfaces import IRoute, IRoutesMapper
from pyramid.registry import predvalseq

from authsite.oauth.scopes import OPENID_SCOPES
from authsite.platform.db.standbys import Reading, Standbys
from authsite.platform.http.error_bodies import ErrorsOption
from authsite.platform.request_state import Request
from authsite.platform.settings.values import CENTURY, duration, is_admin
from authsite.users.account import AAL2, PHR
from authsite.users.caller import Caller
from authsite.users.groups.labels import ADMIN_SCOPES, RESERVED, is_reserved

from .guard_cache import RecentCallers

_SCOPE = re.compile(r"[!#-\[\]-~]+(?: +[!#-\[\]-~]+)*")  # RFC 6749, section 3.3
_GROUP = re.compile(r"[a-z0-9:_-]{1,32}")
_parse_duration = duration(CENTURY)
ANY = "any"
"""The guard that takes a token or a browser session."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The options of one route."""

    guard: str | None = None
    """Which credential the route requires: ``"api"``, ``"web"``, or ``"any"`` of both."""
    scope: str = ""
    """The scopes that a token must have, separated by spaces."""
    verified: bool = False
    """Only users with a verified e-mail address may call."""
    unconfirmed: bool = False
    """Unconfirmed users may call even if they are denied other routes."""
    anonymous: bool = False
    """A request without a credential has no caller, instead of being refused."""
    caller: str | None = None
    """Whose token opens the route: ``"user"``, ``"client"`` or ``"any"``.

    None is the default, ``"any"``, except that ``verified`` then refuses clients as well.
    """
    group: str | None = None
    """The user must be in this group; no client is in one."""
    acr: str | None = None
    """The sign-in must have at least this level: ``"aal2"`` or ``"phr"``."""
    fresh: timedelta | None = None
    """The user must have proved to be who they are less than this long ago."""
    unenrolled: bool = False
    """A sign-in without the second factor that the setting `second-factor` requires may call."""

    def of_token(self) -> "Rules":
        """Those that hold for a token at a route with the guard ``"any"``."""
        return replace(self, guard="api")

    def of_session(self) -> "Rules":
        """Those that hold for a browser session there, which has no scope and acts for a user."""
        return replace(self, guard="web", scope="", caller=None)


Authenticate = Callable[[Request], Caller]


class Guard(NamedTuple):
    """A guard: it authenticates the caller by the request's credential."""

    authenticate: Authenticate
    """Raises the error that refuses the request."""
    credential: Callable[[Request], str | None]
    """What identifies the credential of a request, or None."""
    recent: RecentCallers | None
    """Its callers of the last moments; None if `guard-cache` is ``0s``."""
    standbys: Standbys | None
    """What may read for it, with `database-read-url`."""
    find: Callable[[Request, Reading], Caller | None]
    """`authenticate` by a standby: None unless it shows an active credential."""


@dataclass(frozen=True, slots=True)
class Guards:
    """``registry["authsite.guards"]``: the guards by name, and a cache of the rules of routes."""

    by_name: Mapping[str, Guard]
    rules: dict[IRoute, Rules] = field(default_factory=dict)


class Option(NamedTuple):
    """How values of a route option are checked."""

    accepts: Callable[[object], bool]
    advice: str


def _is_guard(value: object) -> bool:
    return isinstance(value, str) and value in ("api", "web", ANY)


def is_scope(value: object) -> bool:
    """Whether ``value`` is a text of scopes, separated by spaces."""
    return isinstance(value, str) and _SCOPE.fullmatch(value) is not None


def _is_caller(value: object) -> bool:
    return isinstance(value, str) and value in ("user", "client", "any")


def _is_group(value: object) -> bool:
    """Whether a user can be in a group of this name."""
    if not isinstance(value, str) or _GROUP.fullmatch(value) is None:
        return False
    return value in RESERVED or not is_reserved(value)


def _is_acr(value: object) -> bool:
    return isinstance(value, str) and value in (AAL2, PHR)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_duration(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(_parse_duration(value))
    except ValueError:
        return False


_FLAG = Option(_is_flag, "give True or False")
ROUTE_OPTIONS = {
    "guard": Option(
        _is_guard,
        "a route names exactly one guard, 'api' or 'web', or 'any' of both; without a guard, leave"
        " it out",
    ),
    "scope": Option(
        is_scope,
        "give scopes as one text, separated by spaces, such as 'reports:read reports:write'",
    ),
    "verified": _FLAG,
    "unconfirmed": _FLAG,
    "anonymous": _FLAG,
    "caller": Option(_is_caller, "give 'user', 'client' or 'any'"),
    "group": Option(
        _is_group, "give the name of one group, such as 'ops' (characters a-z, 0-9, colon, _ and -)"
    ),
    "acr": Option(_is_acr, "give 'aal2' or 'phr'"),
    "fresh": Option(
        _is_duration, "give a duration with a unit, such as '90s', '10m', '12h' or '1d'"
    ),
    "unenrolled": _FLAG,
}


class RouteOption:
    """A route predicate that matches every request; `rules_of` reads its value."""

    def __init__(self, name: str, value: object, _config: object) -> None:
        self.name, self.value = name, value

    def text(self) -> str:
        return f"{self.name} = {self.value!r}"

    phash = text

    def __call__(self, context: object, request: Request) -> bool:
        return True


def age(text: str) -> timedelta:
    """The value of ``fresh``, which the option accepts."""
    return _parse_duration(text)


def rules_of(route: IRoute) -> Rules:
    """The rules of a route."""
    options: dict[str, Any] = {
        predicate.name: predicate.value
        for predicate in route.predicates
        if isinstance(predicate, RouteOption)
    }
    if "fresh" in options:
        options["fresh"] = age(options["fresh"])
    return Rules(**options)


def add_route_options(config: Configurator) -> None:
    """Add the options to ``config.add_route``, and check every value that a route gives.

    Pyramid drops a route predicate whose value is None, and `not_` inverts one: ``guard=None``
    and ``scope=None`` would open the route. So the values are checked before Pyramid creates
    predicates from them. A host's own predicate replaces ours of the same name; then no route can
    have it.
    """
    for name in ROUTE_OPTIONS:
        config.add_route_predicate(name, partial(RouteOption, name))
    predicates = config.get_predlist("route")
    make_predicates = predicates.make

    def make(config: Configurator, **values: object) -> object:
        for name in ROUTE_OPTIONS.keys() & values.keys():
            _check_value(name, values[name])
        if values.get("guard") == "api":
            values.setdefault("errors", "json")  # clients of an API read JSON
        made = make_predicates(config, **values)
        ours = {each.name for each in made[1] if isinstance(each, RouteOption | ErrorsOption)}
        for name in (ROUTE_OPTIONS.keys() | {ErrorsOption.name}) & values.keys() - ours:
            raise ConfigurationError(
                f"the application has its own route predicate {name!r}, which is a route option of"
                " authsite; give the predicate another name"
            )
        return made

    predicates.make = make


def _check_value(name: str, value: object) -> None:
    option = ROUTE_OPTIONS[name]
    wrapped = isinstance(value, not_ | predvalseq)
    if wrapped or not option.accepts(value):
        shown = f"not_({value.value!r})" if isinstance(value, not_) else repr(value)
        raise ConfigurationError(f"{name}={shown} on a route: {option.advice}")


def check_routes(event: ApplicationCreated) -> None:
    """At start-up: reject options without a guard to enforce them, and contradictory ones."""
    registry = event.app.registry
    scopes = registry["authsite"].settings.scopes
    for route in registry.getUtility(IRoutesMapper).get_routes(include_static=True):
        if error := contradiction(rules_of(route), scopes):
            raise ConfigurationError(f"route {route.name!r}: {error}")


def contradiction(rules: Rules, scopes: Collection[str]) -> str | None:
    """What is wrong with the combination of ``rules``; None if nothing is.

    ``scopes`` are those of the setting, empty for any.
    """
    if rules.guard is None and rules != Rules():
        return "it has options but no guard to enforce them; add guard='api' or guard='web'"
    if rules.guard == ANY:
        if rules.caller == "client":
            return (
                "guard='any' takes browser sessions, too, which always act for a user; use"
                " guard='api' for caller='client'"
            )
        return contradiction(rules.of_token(), scopes) or contradiction(rules.of_session(), scopes)
    if rules.guard == "web" and (rules.scope or rules.caller):
        return (
            "a browser session has no scope and always acts for a user; use guard='api' for scope "
            "and caller"
        )
    if error := _contradicts_anonymous(rules):
        return error
    if rules.verified and rules.unconfirmed:
        return "verified=True and unconfirmed=True contradict each other; remove one"
    if rules.acr and rules.unenrolled:
        return "acr and unenrolled=True contradict each other; remove one"
    if rules.caller == "client" and (_limits_users(rules) or rules.unconfirmed or rules.unenrolled):
        return (
            "caller='client' refuses every user, and verified, unconfirmed, group, acr, fresh and"
            " unenrolled are about users; remove one"
        )
    return _unknown_scopes(rules, scopes)


def _limits_users(rules: Rules) -> bool:
    """Whether ``rules`` ask something of the user or of the sign-in."""
    return bool(rules.verified or rules.group or rules.acr or rules.fresh)


def _unknown_scopes(rules: Rules, scopes: Collection[str]) -> str | None:
    """What is wrong with scopes of ``rules`` that no token can have; None if all are known."""
    for scope in rules.scope.split():
        if is_admin(scope) and scope not in ADMIN_SCOPES:
            named = ", ".join(sorted(ADMIN_SCOPES))
            return f"no token can have the scope {scope}; use one of {named}"
    known = {*scopes, *OPENID_SCOPES}
    unknown = [each for each in rules.scope.split() if not is_admin(each) and each not in known]
    if scopes and unknown:
        return (
            f"no token can have the scope {', '.join(unknown)}; add it to authsite.scopes,"
            f" or use one of {', '.join(scopes)}"
        )
    return None


def _contradicts_anonymous(rules: Rules) -> str | None:
    """What a route with ``anonymous`` cannot have beside it; None if there is no such option."""
    if not rules.anonymous:
        return None
    opens = rules.unconfirmed or rules.unenrolled
    if rules.guard == "web" and (_limits_users(rules) or opens):
        return "with guard='web', anonymous=True stands alone; remove the other options"
    if rules.scope or _limits_users(rules) or rules.caller in ("user", "client"):
        return (
            "anonymous=True would let in callers that scope, verified, group, acr, fresh or caller"
            " refuses; remove one"
        )
    return None
