"""The route options ``acr`` and ``fresh``, and the setting `second-factor`: step-up (RFC 9470).

``acr``: the sign-in has at least that level. ``fresh``: the user has proved recently to be who they
are. A sign-in counts, and a proof on the page `/login/verify`. A refresh does not, nor the current
password on another form: both continue a sign-in.
"""

from datetime import datetime

from pyramid.httpexceptions import HTTPException
from pyramid.response import Response

from authsite.oauth import asked_scopes
from authsite.platform.http.address import path_qs
from authsite.platform.http.error_views import respond
from authsite.platform.http.errors import ApiError
from authsite.platform.http.methods import SAFE_METHODS
from authsite.platform.http.own_routes import is_forward_auth
from authsite.platform.http.rendering import found, see_other
from authsite.platform.http.return_to import page_of_form
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings
from authsite.sign_in.errors import InsufficientUserAuthentication, StepUpRequired
from authsite.sign_in.factors.policy import is_met
from authsite.sign_in.verify_url import verify_url
from authsite.users.caller import Caller
from authsite.users.errors import UserRequired
from authsite.users.groups import labels
from authsite.users.groups.group_scopes import Holder
from authsite.users.levels import AAL2, LEVELS, is_old, reaches

from .errors import LoginRequired
from .route_options import Rules
from .session import asks_for_page


def check_sign_in(request: Request, caller: Caller, rules: Rules) -> None:
    """Raise an error, or a redirect to the page that asks for what is missing.

    The error is that of `find_shortfall`.
    """
    error = find_shortfall(rules, caller, request.authsite.settings)
    if error is None:
        return
    if not isinstance(error, InsufficientUserAuthentication) or is_forward_auth(request):
        raise error
    if caller.guard == "web" and asks_for_page(request):
        raise verify_redirect(request, error)
    raise error


def verify_redirect(request: Request, error: InsufficientUserAuthentication) -> HTTPException:
    """A redirect to the page that asks for what is missing, and from there back.

    After a method that sends data it leads to the page of the form, and says that nothing was
    saved.
    """
    safe = request.method in SAFE_METHODS
    page = path_qs(request) if safe else page_of_form(request)
    return found(request, verify_url(request, page, error, unsaved=not safe))


def asked(error: StepUpRequired, request: Request) -> Response:
    """Exception view: a form of a page leads to the page that asks; others get the error."""
    if request.authsite.error_format == "html" and not asks_for_page(request):
        request.authsite.error_format = "json"
    if request.authsite.error_format != "html":
        return respond(error, request)
    return see_other(request, verify_url(request, page_of_form(request), error, unsaved=True))


def find_shortfall(rules: Rules, caller: Caller, settings: Settings) -> ApiError | None:
    """What the sign-in lacks for a route with ``rules``; None if nothing.

    `UserRequired` for a client that acts for itself, since no login of a user can follow;
    `LoginRequired` for a personal access token where a level is required, by the route or by its
    group, since a new level is of no help to it; else `InsufficientUserAuthentication`.
    """
    asked = rules.acr or rules.group or rules.fresh is not None
    if not asked and settings.second_factor != "required":  # nearly every request
        return None
    if (rules.acr or rules.fresh) and caller.account is None:
        return UserRequired()
    now = clock.now()
    acr = _missing_level(rules, caller, settings, now)
    if acr and caller.personal_token:
        return LoginRequired()
    too_old = rules.fresh is not None and is_old(caller.auth_at, rules.fresh, now)
    if acr is None and not too_old:
        return None
    return InsufficientUserAuthentication(rules.fresh if too_old else None, acr)


def find_level_for_scope(
    request: Request, rules: Rules, caller: Caller
) -> InsufficientUserAuthentication | None:
    """What the sign-in lacks for a scope that the token of ``caller`` lacks; None if nothing.

    A sign-in below the level of a group gets none of its scopes. So a client that asks again for
    the scope alone would never have it: the challenge names both (RFC 9470, section 3).
    """
    account, settings = caller.account, request.authsite.settings
    if account is None or caller.acr is None or caller.client_uuid is None:
        return None
    if not labels.count_from(account.labels, caller.acr, settings.admin_acr):
        return None  # nearly every refusal: without a query
    holder = Holder(account.id, caller.acr, caller.client_uuid)
    lost = " ".join(each for each in rules.scope.split() if each not in caller.scope)
    acr = asked_scopes.level_for(request.authsite.ctx, holder, caller.audience, lost)
    if acr is None:
        return None
    other = find_shortfall(rules, caller, settings)
    if not isinstance(other, InsufficientUserAuthentication):
        return InsufficientUserAuthentication(None, acr, rules.scope)
    level = max(acr, other.acr_values or acr, key=LEVELS.index)
    return InsufficientUserAuthentication(other.max_age, level, rules.scope)


def is_below_policy(caller: Caller, settings: Settings, now: datetime) -> bool:
    """Whether the setting `second-factor` refuses this sign-in of a user now.

    A remembered browser passes, and so does a personal access token, which is of no sign-in.
    """
    return bool(caller.proved_by) and not is_met(settings, caller.proved_by, now)


def _missing_level(rules: Rules, caller: Caller, settings: Settings, now: datetime) -> str | None:
    """The level that the route needs and the sign-in does not have."""
    wanted = [rules.acr] if rules.acr else []
    if not rules.unenrolled and is_below_policy(caller, settings, now):
        wanted.append(AAL2)
    if rules.group and caller.account and rules.group not in caller.groups:
        level = labels.level_of(caller.account.labels, rules.group, settings.admin_acr)
        wanted += [level] if level else []
    missing = [each for each in wanted if not reaches(caller.acr, each)]
    return max(missing, key=LEVELS.index, default=None)
