"""Route options and their enforcement.

A predicate or a security policy alone would fail open: a view without a permission answers
anyone, and a host's own policy replaces ours. So the guard runs on ContextFound, after routing
and before any view, whatever the view or the host say.
"""

from dataclasses import dataclass
from typing import Any

from pyramid.exceptions import ConfigurationError
from pyramid.security import NO_PERMISSION_REQUIRED, Allowed, Denied

from .caller import Caller
from .errors import EmailNotConfirmed, EmailNotVerified, InsufficientScope, UserRequired


class RouteOption:
    """A route option: always matches, and is read by `enforce`."""

    option = ""

    def __init__(self, value: Any, info: Any) -> None:
        self.value = value

    def text(self) -> str:
        return f"{self.option} = {self.value!r}"

    phash = text

    def __call__(self, context: Any, request: Any) -> bool:
        return True


class Guard(RouteOption):
    """``guard="api"``: who may come in."""

    option = "guard"

    def __init__(self, value: Any, info: Any) -> None:
        super().__init__(value, info)
        known = info.registry["authsite.guards"]
        if not isinstance(value, str) or value not in known:
            raise ConfigurationError(
                f"guard={value!r} names no guard; a route names one of {', '.join(known)}"
            )


class Scope(RouteOption):
    """``scope="reports:read"``: the scopes that a token must have, separated by blanks."""

    option = "scope"


class Verified(RouteOption):
    """``verified=True``: only users who have proved their e-mail address (Variant A)."""

    option = "verified"


class Unconfirmed(RouteOption):
    """``unconfirmed=True``: open to unconfirmed users even where Variant B refuses them."""

    option = "unconfirmed"


class Anonymous(RouteOption):
    """``anonymous=True``: a request without any Authorization header comes in as nobody."""

    option = "anonymous"


ROUTE_OPTIONS = {
    option.option: option for option in (Guard, Scope, Verified, Unconfirmed, Anonymous)
}


@dataclass(frozen=True, slots=True)
class Rules:
    """What one route asks for."""

    guard: str | None = None
    scope: str = ""
    verified: bool = False
    unconfirmed: bool = False
    anonymous: bool = False


def rules_of(route: Any) -> Rules:
    """The rules that stand on a route."""
    options = {
        predicate.option: predicate.value
        for predicate in route.predicates
        if isinstance(predicate, RouteOption)
    }
    return Rules(**options)


def check_routes(event: Any) -> None:
    """On start: an option that only a guard can keep must not stand on a route without one."""
    from pyramid.interfaces import IRoutesMapper

    for route in event.app.registry.getUtility(IRoutesMapper).get_routes(include_static=True):
        rules = rules_of(route)
        if rules.guard is None and rules != Rules():
            raise ConfigurationError(f"route {route.name!r} has options but no guard to keep them")


def own_view_deriver(view: Any, info: Any) -> Any:
    """In a host, our guarded views need no permission from the host's policy, nor its CSRF token.

    Programs have no CSRF token, and the host's policy knows nothing of tokens; our guards and
    forms look after both.
    """
    from pyramid.interfaces import IRoutesMapper

    name = info.options["route_name"] or ""
    if name.startswith("authsite.") and not info.registry["authsite.standalone"]:
        info.options["require_csrf"] = False
        route = info.registry.getUtility(IRoutesMapper).get_route(name)
        if rules_of(route).guard and info.options["permission"] is None:
            info.options["permission"] = NO_PERMISSION_REQUIRED
    return view


def enforce(event: Any) -> None:
    """On every matched route with a guard: find the caller, or raise the guard's refusal."""
    request = event.request
    route = request.matched_route
    if route is None:
        return
    known = request.registry["authsite.route_rules"]
    rules = known.get(route)
    if rules is None:
        rules = known[route] = rules_of(route)
    if rules.anonymous and "HTTP_AUTHORIZATION" not in request.environ:
        return
    if rules.guard is not None:
        if rules.guard == "api" and request.speaks == "page":
            request.speaks = "house"  # programs read JSON, wherever the host has put the route
        request.guarding = True  # what fails now fails here, not in a host's view
        caller = request.registry["authsite.guards"][rules.guard](request)
        _check(rules, caller, request.cfg)
        request.guarding = False
        request.caller = caller


def no_caller(request: Any) -> None:
    """``request.caller`` on a route without a guard."""


def _check(rules: Rules, caller: Caller, cfg: Any) -> None:
    if rules.scope and not caller.scope.issuperset(rules.scope.split()):
        raise InsufficientScope(rules.scope)
    confirmed = caller.user is not None and caller.user.confirmed
    if cfg.variant == "B":
        if cfg.require_email_confirmation and caller.user and not (confirmed or rules.unconfirmed):
            raise EmailNotConfirmed
    elif rules.verified and cfg.require_email_verification:
        if caller.user is None:
            raise UserRequired
        if not confirmed:
            raise EmailNotVerified


class GuardedByDefault:
    """The stand-alone security policy: a view is open only if it, or its route's guard, says so."""

    def identity(self, request: Any) -> Any:
        return request.caller

    def authenticated_userid(self, request: Any) -> str | None:
        caller = request.caller
        return str(caller.user.id) if caller and caller.user else None

    def permits(self, request: Any, context: Any, permission: str) -> Any:
        if request.caller is not None:
            return Allowed("the route's guard let the caller in")
        return Denied("the route has no guard, and the view does not say that it is open")

    def remember(self, request: Any, userid: str, **kw: Any) -> list[tuple[str, str]]:
        return []

    def forget(self, request: Any, **kw: Any) -> list[tuple[str, str]]:
        return []
