"""The permission that each view of console and API names, and what it asks of the caller.

A view of a route ``authsite.admin.…`` has ``admin="users:write"``; one without stops the start.
``recent=True``: the caller must have proved within the last ten minutes to be who they are.
"""

from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING

from pyramid.exceptions import ConfigurationError
from pyramid.interfaces import IViewDeriverInfo
from pyramid.response import Response

from authsite.guards.session import asks_for_page
from authsite.guards.step_up import verify_redirect
from authsite.platform.request_state import Request, View, view_options
from authsite.platform.runtime import clock
from authsite.platform.settings.values import ADMIN_PREFIX, Network
from authsite.sign_in.errors import PROOF_LIFETIME, InsufficientUserAuthentication
from authsite.users.caller import Caller, caller_of
from authsite.users.groups.reserved import ADMIN_SCOPES
from authsite.users.levels import is_old, reaches

from . import form_cookie, idle
from .administrator import Administrator, reserved_groups, scopes_of
from .errors import PermissionMissing

if TYPE_CHECKING:
    from pyramid.config import Configurator

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
            idle.note(request, caller)
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
    if caller.guard == "web" and idle.is_idle(request, caller):
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
