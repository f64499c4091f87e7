"""The permission that each view of console and API names, and what it asks of the caller.

A view of a route ``authsite.admin.…`` has ``admin="users:write"``; one without stops the start.
``recent=True``: the caller must have proved within the last ten minutes to be who they are.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from pyramid.exceptions import ConfigurationError
from pyramid.interfaces import IViewDeriverInfo
from pyramid.response import Response

from authsite.guards.bearer import asks_for_page
from authsite.guards.step_up import verify_redirect
from authsite.platform.audit.service import Cause
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.http import cookies
from authsite.platform.request_state import Request, View, view_options
from authsite.platform.runtime import clock
from authsite.platform.settings.values import ADMIN_PREFIX, Network
from authsite.sign_in.errors import PROOF_LIFETIME, InsufficientUserAuthentication
from authsite.users.account import is_old, reaches
from authsite.users.caller import Caller, caller_of
from authsite.users.groups.labels import ADMIN_SCOPES, RESERVED, names
from authsite.users.models import User

from . import form_cookie
from .errors import Outranked, PermissionMissing

if TYPE_CHECKING:
    from pyramid.config import Configurator


# Who does something as an administrator, and what this administrator may do.
#
# A permission is a scope of `authsite.users.groups.labels` without ``admin:``, such as
# ``users:read``.


@dataclass(frozen=True, slots=True)
class Administrator:
    """A user in a reserved group, a client with scopes of administrators, or a command."""

    kind: Literal["user", "client", "command"]
    scopes: frozenset[str]
    id: UUID | None = None
    """The id of the user or client; None for a command."""

    def may(self, permission: str) -> bool:
        """Whether the administrator has a permission. ``write`` includes ``read``."""
        object_, _, action = permission.partition(":")
        actions = ("read", "write") if action == "read" else (action,)
        return any(f"{ADMIN_PREFIX}{object_}:{each}" in self.scopes for each in actions)

    @property
    def limit_subject(self) -> str:
        """The key of the caller in the limits."""
        return f"{self.kind} {self.id}"

    def cause(self, reason: str | None = None) -> Cause:
        """Who and why, for the audit trail."""
        return Cause(self.kind, str(self.id) if self.id else None, reason or None)


COMMAND = Administrator("command", ADMIN_SCOPES)
"""The operator, who runs a command."""


def reserved_groups(labels: str | None) -> tuple[str, ...]:
    """The reserved groups in ``users.labels``, whatever the level of a sign-in is."""
    return tuple(name for name in names(labels) if name in RESERVED)


def scopes_of(groups: Iterable[str]) -> frozenset[str]:
    """The scopes that reserved groups bind."""
    return frozenset(scope for name in groups for scope in RESERVED[name].scopes)


# At whom an administrator may act: not at a user who may do more, and not at their own groups.


def require_rank(by: Administrator, user: User) -> None:
    """Raise `Outranked` unless ``by`` may do more than read at ``user``.

    The user must have no permission that ``by`` lacks. A client does nothing to an administrator.
    """
    groups = reserved_groups(user.labels)
    if not groups or by.kind == "command":
        return
    permissions = {each.removeprefix(ADMIN_PREFIX) for each in scopes_of(groups)}
    if by.kind == "client" or not all(map(by.may, permissions)):
        raise Outranked


def require_other(by: Administrator, user: User) -> None:
    """Raise `Outranked` if ``by`` is ``user``: no one changes their own groups."""
    if by.kind == "user" and by.id == user.id:
        raise Outranked


# How long ago the console was last used in a browser session: a signed cookie, no row.
#
# Of a sign-in that is older than `admin-idle`, and a cookie that is older or missing, all proofs
# are asked for again.


PURPOSE = "admin idle"
FORMAT = SealedFormat("Q")  # when the console was used, in Unix seconds
RENEW_AFTER = timedelta(minutes=1)


def is_idle(request: Request, caller: Caller) -> bool:
    """Whether neither the sign-in nor the last use is more recent than `admin-idle`."""
    limit, now = request.authsite.settings.admin_idle, clock.now()
    return is_old(caller.auth_at, limit, now) and is_old(_last_use(request, caller), limit, now)


def note(request: Request, caller: Caller) -> None:
    """Write the cookie, unless that was done within the last minute, or tenth of `admin-idle`."""
    now, lasts = clock.now(), request.authsite.settings.admin_idle
    if not is_old(_last_use(request, caller), min(RENEW_AFTER, lasts / 10), now):
        return
    value = FORMAT.seal(
        request.authsite.services.keys[PURPOSE],
        int(now.timestamp()),
        expires=int((now + lasts).timestamp()),
        bound=_bound(caller),
    )
    name = cookies.host_name(request, cookies.ADMIN)
    cookie = cookies.Cookie(name, value, int(lasts.total_seconds()))
    request.add_response_callback(
        lambda _request, response: cookies.write(request, response, cookie)
    )


def _last_use(request: Request, caller: Caller) -> datetime | None:
    value = cookies.read(request, cookies.host_name(request, cookies.ADMIN))
    if not value:
        return None
    ring = request.authsite.services.keys[PURPOSE]
    fields = FORMAT.unseal(ring, value, clock.now(), _bound(caller))
    return datetime.fromtimestamp(fields[0], UTC) if fields else None


def _bound(caller: Caller) -> bytes:
    return caller.browser_uuid.bytes if caller.browser_uuid else b""


ROUTES = "authsite.admin."
API_ROUTES = f"{ROUTES}api."
ANY = "any"
"""The permission of a view that is open to every administrator."""


def add_permissions(config: "Configurator") -> None:
    """Add the view options, and the condition of the routes.

    The caller is checked before the body is read.
    """
    config.add_route_predicate("admin_networks", InsideNetworks)
    config.add_view_deriver(
        permission_deriver,
        "authsite_admin",
        under="decorated_view",
        over=("authsite_form", "authsite_body", "authsite_rate_limit"),
    )


class InsideNetworks:
    """Predicate of routes: for an address outside of `admin-networks` there are none.

    So the answer is that of an unknown path, and not the question who the caller is.
    """

    def __init__(self, _value: bool, _config: "Configurator") -> None:
        pass

    def text(self) -> str:
        """For Pyramid, which tells routes apart by it."""
        return "admin_networks"

    phash = text

    def __call__(self, _info: object, request: Request) -> bool:
        networks = request.authsite.settings.admin_networks
        return _is_inside(request.authsite.client_address, networks)


@view_options("admin", "recent", "confirming")
def permission_deriver(view: View, info: IViewDeriverInfo) -> View:
    """View deriver for the options ``admin`` and ``recent``, and ``confirming``: see there."""
    name, permission = info.options.get("route_name") or "", info.options.get("admin")
    if not name.startswith(ROUTES):
        return view
    if permission != ANY and not _is_known(permission):
        raise ConfigurationError(
            f'a view of the route {name} needs a permission: add admin="users:read", or another'
            " scope of administrators without admin:"
        )
    recent, confirming = bool(info.options.get("recent")), bool(info.options.get("confirming"))

    def view_for_administrators(context: object, request: Request) -> Response:
        by = administrator_for(request, permission, recent=recent, confirming=confirming)
        if confirming:
            form_cookie.restore(request)
        if name.startswith(API_ROUTES):
            request.authsite.ctx.limits.count("admin-api", by.limit_subject)
        request.authsite.administrator = by
        return view(context, request)

    return view_for_administrators


def administrator_of(request: Request) -> Administrator:
    """Who calls a view with the option ``admin``."""
    found: Administrator = request.authsite.administrator
    return found


def administrator_for(
    request: Request, permission: str, *, recent: bool, confirming: bool = False
) -> Administrator:
    """The caller as an administrator with ``permission``.

    ``confirming``: the form that is sent is shown again after the page that asks for more.

    Raises `PermissionMissing`, and for a sign-in that is too old or too weak a redirect to the page
    that asks for more, or `InsufficientUserAuthentication` (RFC 9470).
    """
    caller = caller_of(request)
    by = _administrator(caller)
    if not _may(by, permission):
        if (error := _too_weak(request, caller)) and _may_when_strong(caller, permission):
            raise error  # the sign-in is why the token has no such scope
        raise PermissionMissing(permission_scope(permission))
    if by.kind == "user":
        if error := _shortfall(request, caller, recent=recent):
            if caller.guard == "web" and asks_for_page(request):
                again = confirming and form_cookie.keep(request)
                raise (
                    form_cookie.redirect(request, error)
                    if again
                    else verify_redirect(request, error)
                )
            raise error
        if caller.guard == "web":
            note(request, caller)
    return by


def permission_scope(permission: str) -> str:
    """The scope of a view's ``permission``; of `ANY`, one that is enough."""
    return ADMIN_PREFIX + ("users:read" if permission == ANY else permission)


def _administrator(caller: Caller) -> Administrator:
    """A user has what the groups give; with a token, only what the token has, too."""
    if caller.account is None:
        scopes = ADMIN_SCOPES.intersection(caller.scope)
        return Administrator("client", scopes, caller.client_uuid)
    by = _by_groups(caller)
    if caller.guard == "api":
        by = replace(by, scopes=by.scopes & _with_read(caller.scope))
    return by


def _by_groups(caller: Caller) -> Administrator:
    """What the groups of the user give, whatever the token has."""
    account = caller.acting_user()
    return Administrator("user", scopes_of(reserved_groups(account.labels)), account.id)


def _may_when_strong(caller: Caller, permission: str) -> bool:
    """Whether a stronger sign-in would do; never for an application of a third party.

    No sign-in opens this API to it, and the answer would tell it who is an administrator.
    """
    return not caller.third_party and _may(_by_groups(caller), permission)


def _may(by: Administrator, permission: str) -> bool:
    return bool(by.scopes) if permission == ANY else by.may(permission)


def _with_read(scopes: tuple[str, ...]) -> frozenset[str]:
    """``scopes``, and the ``read`` that each ``write`` includes."""
    reads = (each.removesuffix(":write") + ":read" for each in scopes if each.endswith(":write"))
    return frozenset((*scopes, *reads))


def _shortfall(
    request: Request, caller: Caller, *, recent: bool
) -> InsufficientUserAuthentication | None:
    settings, now = request.authsite.settings, clock.now()
    too_weak = _too_weak(request, caller)
    acr = too_weak.acr_values if too_weak else None
    if recent and is_old(caller.auth_at, PROOF_LIFETIME, now):
        return InsufficientUserAuthentication(PROOF_LIFETIME, acr)
    if caller.guard == "web" and is_idle(request, caller):
        return InsufficientUserAuthentication(settings.admin_idle, acr)
    return too_weak


def _too_weak(request: Request, caller: Caller) -> InsufficientUserAuthentication | None:
    """The error of a user's sign-in below `admin-acr`; None of a caller that has no sign-in."""
    if caller.acr is None or reaches(caller.acr, request.authsite.settings.admin_acr):
        return None
    return InsufficientUserAuthentication(None, request.authsite.settings.admin_acr)


def _is_known(permission: object) -> bool:
    known = {scope.removeprefix(ADMIN_PREFIX) for scope in ADMIN_SCOPES}
    known |= {each.replace(":write", ":read") for each in known}
    return isinstance(permission, str) and permission in known


def _is_inside(address: str | None, networks: tuple[Network, ...]) -> bool:
    if not networks:
        return True
    return address is not None and any(ip_address(address) in each for each in networks)
