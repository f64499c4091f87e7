"""Enforcement of guards.

The guard runs on BeforeTraversal: after routing, before the route's ``factory`` and any view. A
security policy alone would not be enough: Pyramid ignores it for a view without a permission, and a
host application has its own policy.
"""

from dataclasses import replace

from pyramid.events import BeforeTraversal
from pyramid.httpexceptions import HTTPException
from pyramid.interfaces import IRoutesMapper, IViewDeriverInfo
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.oauth.scopes import ACCOUNT_SCOPE
from authsite.platform.http.address import path_qs
from authsite.platform.http.errors import ApiError
from authsite.platform.http.headers import SAFE_METHODS, is_safe
from authsite.platform.http.own_routes import is_forward_auth, is_own
from authsite.platform.http.return_to import page_of_form
from authsite.platform.request_state import Request, View, view_options
from authsite.platform.runtime import clock
from authsite.platform.runtime.counters import GUARDED
from authsite.platform.settings import Settings
from authsite.sign_in.login_url import confirm_url
from authsite.users.account import PHR, lacks_confirmation
from authsite.users.caller import Caller
from authsite.users.errors import UserRequired
from authsite.users.groups import labels

from .bearer import asks_for_page, is_sent, session_of
from .errors import (
    AddressNotConfirmed,
    ApplicationNotAllowed,
    ClientRequired,
    EmailNotConfirmed,
    EmailNotVerified,
    GroupRequired,
    InsufficientScope,
    LoginRequired,
    NotAuthenticated,
    NotSignedIn,
)
from .protected_resources import is_for_other, name_metadata
from .reasons import GuardReason
from .route_options import ANY, Authenticate, Guard, Guards, Rules, rules_of
from .step_up import check_sign_in, find_level_for_scope, find_shortfall, is_below_policy

_ACCEPTED = "accepted"
_SIGNED_IN = Rules(guard="web")
# Why the metrics say that a token was rejected; for other errors they have the code.
_OUTCOMES = {
    GuardReason.NO_TOKEN.meaning: "no_token",
    GuardReason.NOT_VALID.meaning: "invalid_token",
    GuardReason.NOT_ACTIVE.meaning: "inactive_token",
    GuardReason.OTHER_AUDIENCE.meaning: "other_audience",
}


def own_view_deriver(view: View, info: IViewDeriverInfo) -> View:
    """In a host: exempt our guarded views from the host's permissions and from its CSRF check.

    Clients of the API have no CSRF token, and the host's policy cannot read our tokens. Our guards
    and forms do both checks.
    """
    name = info.options["route_name"]
    if is_own(name) and not info.registry["authsite.http"].standalone:
        info.options["require_csrf"] = False
        route = info.registry.getUtility(IRoutesMapper).get_route(name)
        if rules_of(route).guard and info.options["permission"] is None:
            info.options["permission"] = NO_PERMISSION_REQUIRED
    return view


@view_options("personal_token", "any_client")
def login_deriver(view: View, info: IViewDeriverInfo) -> View:
    """Refuse tokens at our API views that must not manage an account.

    Personal access tokens open only views with ``personal_token=True``: a person with such a token
    must not take over the account with it, or create another one. Tokens of an application that
    uses codes open only views with ``any_client=True``, unless it is a first-party one and the
    token has the scope `ACCOUNT_SCOPE`. A new view is closed by default. The routes of a host have
    other rules (`insufficient`).
    """
    name = info.options["route_name"]
    personal, any_client = info.options.get("personal_token"), info.options.get("any_client")
    if not is_own(name) or (personal and any_client):
        return view
    route = info.registry.getUtility(IRoutesMapper).get_route(name)
    if rules_of(route).guard != "api":
        return view

    def view_for_logins(context: object, request: Request) -> Response:
        caller = request.authsite.caller
        if caller is not None:
            _require_login(caller, personal=bool(personal), any_client=bool(any_client))
        return view(context, request)

    return view_for_logins


def login_for(request: Request, route_name: str) -> Caller:
    """The caller, if the request's token would open the views of logins at another API route.

    For a route without a guard of which only some requests need a token. Raises the errors of the
    guard, `LoginRequired` and `ApplicationNotAllowed`.
    """
    guards: Guards = request.registry["authsite.guards"]
    route = request.registry.getUtility(IRoutesMapper).get_route(route_name)
    caller = accept(request, guards.by_name["api"], rules_of(route))
    _require_login(caller)
    return caller


def _require_login(caller: Caller, *, personal: bool = False, any_client: bool = False) -> None:
    if caller.personal_token and not personal:
        raise LoginRequired
    if not any_client and not _manages_accounts(caller):
        raise ApplicationNotAllowed


def _manages_accounts(caller: Caller) -> bool:
    """Whether the application that calls may use our own API: not one of a third party."""
    return caller.third_party is None or (not caller.third_party and ACCOUNT_SCOPE in caller.scope)


def enforce(event: BeforeTraversal) -> None:
    """For every request to a route with a guard: set the caller, or raise the guard's error."""
    request = event.request
    route = request.matched_route
    if route is None or is_forward_auth(request):  # whose views read the rules from the query
        return
    guards: Guards = request.registry["authsite.guards"]
    rules = guards.rules.get(route)
    if rules is None:
        rules = guards.rules[route] = rules_of(route)
    if rules.guard is None:
        return
    takes_any = rules.guard == ANY
    rules = chosen(request, rules)
    if takes_any and rules.guard == "api" and request.authsite.error_format == "html":
        request.authsite.error_format = "json"
    guard = guards.by_name[rules.guard or ""]
    if rules.anonymous and rules.guard == "api" and guard.credential(request) is None:
        return
    request.authsite.guarding = True
    try:
        if rules.guard == "web" and rules.anonymous:
            caller = find_session(request, guard)
        else:
            caller = accept(request, guard, rules)
    except ApiError as error:
        if takes_any:
            offer_token(error)
        name_metadata(request, rules, error)
        _for_browser(request, error)
        raise
    request.authsite.guarding = False
    request.authsite.caller = caller


def chosen(request: Request, rules: Rules) -> Rules:
    """``rules`` with the guard that decides; with ``"any"`` that is the token, if one is sent.

    A token that is not valid is refused, also where a user is signed in with the browser.
    """
    if rules.guard != ANY:
        return rules
    return rules.of_token() if is_sent(request) else rules.of_session()


def offer_token(error: ApiError) -> None:
    """At a route that takes a token, too: name it in the 401 of one that has no session."""
    if isinstance(error, NotSignedIn):
        error.headers |= NotAuthenticated(token_sent=False).headers


def _for_browser(request: Request, error: ApiError) -> None:
    """Make ``error`` a page for a browser that asks for one, and JSON for a script."""
    if request.authsite.error_format != "html":
        return
    if not asks_for_page(request):
        request.authsite.error_format = "json"
    elif isinstance(error, AddressNotConfirmed):
        safe = request.method in SAFE_METHODS
        page = path_qs(request) if safe else page_of_form(request)
        error.link_page = confirm_url(request, page)


def accept(
    request: Request, guard: Guard, rules: Rules, authenticate: Authenticate | None = None
) -> Caller:
    """The caller, if the credential satisfies ``rules``; else raises the guard's error.

    ``authenticate`` takes the place of the guard's. The decision is counted for the metrics.
    """
    try:
        caller = _decide(request, guard, rules, authenticate or guard.authenticate)
        check_sign_in(request, caller, rules)  # after what a new sign-in would not change
    except Exception as error:
        _count_rejected(rules.guard, error)
        raise
    GUARDED.add(rules.guard, _ACCEPTED)
    return caller


def find_session(request: Request, guard: Guard) -> Caller | None:
    """The signed-in user of an ``anonymous`` route; None if there is none.

    A user who may do nothing before the address is confirmed counts as none, and so does a sign-in
    without the second factor that the setting `second-factor` requires.
    """
    if guard.credential(request) is None:
        return None
    try:
        caller = _decide(request, guard, _SIGNED_IN, session_of)
    except (NotSignedIn, AddressNotConfirmed):
        return None
    if is_below_policy(caller, request.authsite.settings, clock.now()):
        return None
    GUARDED.add("web", _ACCEPTED)
    return caller


def _count_rejected(guard: str | None, error: Exception) -> None:
    if isinstance(error, ApiError):
        outcome = _OUTCOMES.get(error.reason or "", error.code)
    else:
        outcome = "redirected" if isinstance(error, HTTPException) else "unavailable"
    GUARDED.add(guard, outcome)


def _decide(request: Request, guard: Guard, rules: Rules, authenticate: Authenticate) -> Caller:
    """`accept` but for the level and the age of the sign-in.

    With `guard-cache` or `database-read-url` a GET request to a route of the host, or to forward
    auth, may be accepted by what this process has just read, or by a standby. The primary decides
    on everything else, and on each refusal.
    """
    recent = guard.recent
    credential = guard.credential(request) if recent or guard.standbys else None
    if credential is None:
        caller = authenticate(request)
    elif _decided_by_primary(request):
        if recent:
            recent.forget(credential)
        caller = authenticate(request)
    elif known := _known(request, guard, rules, credential):
        return known
    elif recent:
        caller = recent.read(credential, lambda: authenticate(request))
    else:
        caller = authenticate(request)
    if error := _denial(request, rules, caller):
        raise _or_step_up(request, rules, caller, error)
    return caller


def _known(request: Request, guard: Guard, rules: Rules, credential: str) -> Caller | None:
    """The caller by what this process has read, or by a standby; None: the primary decides."""
    recent = guard.recent
    if recent:
        caller = recent.find(credential)
        if caller is not None and _may_pass(request, rules, caller):
            return caller
    reading = guard.standbys.reading() if guard.standbys else None
    if reading is None:
        return None
    caller = guard.find(request, reading)
    if caller is None or not _may_pass(request, rules, caller):
        return None
    if recent:
        # The time of `guard-cache` begins when the row was complete, so that the two do not add up.
        recent.keep(credential, caller, reading.moment)
    return caller


def _may_pass(request: Request, rules: Rules, known: Caller) -> bool:
    """Whether a caller that was read a moment ago is accepted; else the primary decides."""
    if _denial(request, rules, known) is not None:
        return False
    return find_shortfall(rules, known, request.authsite.settings) is None


def _decided_by_primary(request: Request) -> bool:
    """Whether a request may change something, or shows what another process has just changed."""
    return _is_own_api(request) or not is_safe(request)


def _is_own_api(request: Request) -> bool:
    """Whether the route is authsite's own, and not forward auth, which asks for an application."""
    return is_own(request.matched_route.name) and not is_forward_auth(request)


def _denial(request: Request, rules: Rules, caller: Caller) -> ApiError | None:
    """`insufficient`, after what follows from the application that the token was issued to.

    A token for a resource opens that alone (RFC 8707, section 2). The token of a third party
    opens only what names a scope: its user has agreed to scopes, and to nothing else. At our own
    API the views decide (`login_deriver`).
    """
    if is_for_other(request, caller):
        return NotAuthenticated(token_sent=True, why=GuardReason.OTHER_AUDIENCE)
    if caller.third_party and not rules.scope and not _is_own_api(request):
        return InsufficientScope(sent=caller.scope)
    return insufficient(rules, caller, request.authsite.settings)


def _or_step_up(request: Request, rules: Rules, caller: Caller, error: ApiError) -> ApiError:
    """``error``, or what a stronger sign-in would mend, where that is all that is missing."""
    if not isinstance(error, InsufficientScope) or not rules.scope:
        return error
    if insufficient(replace(rules, scope=""), caller, request.authsite.settings):
        return error
    return find_level_for_scope(request, rules, caller) or error


def insufficient(rules: Rules, caller: Caller, settings: Settings) -> ApiError | None:
    """The error for a valid credential that does not satisfy ``rules``; None if it does.

    The errors are `InsufficientScope`, `UserRequired`, `ClientRequired`, `EmailNotVerified`,
    `EmailNotConfirmed` and `GroupRequired`.
    """
    if rules.scope and not set(rules.scope.split()).issubset(caller.scope):
        return InsufficientScope(rules.scope, caller.scope)
    holds = settings.variant == "B" or settings.require_email_verification
    verified = rules.verified and holds
    wanted = rules.caller or ("user" if verified else "any")
    if wanted == "user" and caller.account is None:
        return UserRequired()
    if wanted == "client" and caller.account is not None:
        return ClientRequired()
    unverified = verified and caller.account is not None and not caller.account.confirmed
    if unverified or (lacks_confirmation(caller.account, settings) and not rules.unconfirmed):
        confirms = settings.confirms_as_in_variant_b
        return EmailNotConfirmed() if confirms else EmailNotVerified()
    if rules.group and not _is_member(caller, rules.group, settings):
        return GroupRequired()  # a step-up is of no help
    return None


def _is_member(caller: Caller, group: str, settings: Settings) -> bool:
    """Whether the user is in the group, at the highest level of a sign-in."""
    account = caller.account
    return account is not None and group in labels.shown(account.labels, PHR, settings.admin_acr)
