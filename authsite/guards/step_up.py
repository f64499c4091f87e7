"""The route options ``acr`` and ``fresh``, and the setting `second-factor`: step-up (RFC 9470).

``acr``: the sign-in has at least that level. ``fresh``: the user has proved recently to be who they
are. A sign-in counts, and a proof on the page `/login/verify`. A refresh does not, nor the current
password on another form: both continue a sign-in.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import Field
from pyramid.httpexceptions import HTTPException
from pyramid.response import Response

from authsite.oauth import asked_scopes
from authsite.platform.http.address import path_qs, route_path
from authsite.platform.http.bodies import Body, CurrentPassword, MailCode
from authsite.platform.http.error_views import respond
from authsite.platform.http.errors import ApiError
from authsite.platform.http.forms import form_view
from authsite.platform.http.headers import SAFE_METHODS
from authsite.platform.http.own_routes import is_forward_auth
from authsite.platform.http.rendering import found, go_on, page_path, see_other
from authsite.platform.http.return_to import forget_next, page_of_form
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings
from authsite.platform.settings.sections.providers import Provider
from authsite.sign_in import step_up
from authsite.sign_in.errors import InsufficientUserAuthentication, StepUpRequired
from authsite.sign_in.factors.policy import PASSKEY, is_met
from authsite.sign_in.login_url import MAIL_ROUTE, ROUTE, verify_url
from authsite.sign_in.method import ways_of, words_of
from authsite.sign_in.methods.mail_code.pages import send_to_session
from authsite.sign_in.methods.passkeys.assertion import pending_options
from authsite.sign_in.methods.passkeys.registration import MAX_SIZE
from authsite.sign_in.sessions import cookies
from authsite.sign_in.step_up import Given, Missing, Wanted
from authsite.users import identities
from authsite.users.account import AAL2, LEVELS, PHR, SignedInUser, is_old, reaches
from authsite.users.caller import Caller, caller_of
from authsite.users.errors import UserRequired
from authsite.users.groups import labels
from authsite.users.groups.group_scopes import Holder

from .bearer import asks_for_page
from .errors import LoginRequired
from .route_options import Rules


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


# `/login/verify`: a signed-in user proves again, or more, who they are; see `sign_in.step_up`.
#
# The query says what is needed, as the guard that led here knows it: ``acr_values`` and
# ``max_age``. A person who changes it gets another form, and then the answer of the guard again:
# nothing is opened by it. The page leads on only when nothing of that is missing, so that it is
# never left unmet.


VERIFY = "authsite:templates/login/verify.jinja2"
_MAX_AGE = 10**9  # seconds


class VerifyForm(Body):
    """The proofs. ``method``: that of ``code`` or ``credential``."""

    current_password: CurrentPassword = None
    method: Annotated[str, Field(max_length=32)] | None = None
    code: Annotated[str, Field(max_length=64)] | None = None
    mail_code: MailCode = None
    credential: Annotated[str, Field(max_length=MAX_SIZE)] | None = None


def verify_page(request: Request) -> dict[str, Any]:
    """The form with what is missing, also after a mistake."""
    user = caller_of(request).signed_in_user()
    missing = step_up.find_missing(request.authsite.ctx, user, _wanted(request))
    return _values(request, user, missing)


def show_verify(request: Request) -> dict[str, Any] | Response:
    """The form; on to the page if nothing is missing, or to where a factor can be added."""
    ctx, user = request.authsite.ctx, caller_of(request).signed_in_user()
    missing = step_up.find_missing(ctx, user, _wanted(request))
    return _elsewhere(request, missing) or _values(request, user, missing)


@form_view(ROUTE, VerifyForm, show=verify_page, get=show_verify, renderer=VERIFY)
def verify(request: Request) -> Response:
    """Check the proofs, and go on under a new key of the session."""
    ctx, user = request.authsite.ctx, caller_of(request).signed_in_user()
    form: VerifyForm = request.authsite.validated
    read = {"code": form.code, "credential": form.credential}
    factor = {name: value for name, value in read.items() if value}
    wanted = _wanted(request)
    given = Given(form.current_password, form.method, factor, form.mail_code)
    renewed = step_up.prove(ctx, user, wanted, given)
    if renewed is not None:
        cookies.renew_session(request, renewed)
    elif elsewhere := _elsewhere(request, step_up.find_missing(ctx, user, wanted)):
        return elsewhere
    return _on(request)


def to_form(request: Request) -> Response:
    """The path is in the address bar after an error."""
    return see_other(request, route_path(request, ROUTE, _query=_query(request)))


@form_view(MAIL_ROUTE, show=verify_page, get=to_form, renderer=VERIFY)
def mail_code(request: Request) -> Response:
    """Mail a code to a user without a password, and lead back to the form."""
    send_to_session(request.authsite.ctx, caller_of(request).signed_in_user())
    query = {**_query(request), "sent": "1"}
    return see_other(request, route_path(request, ROUTE, _query=query))


def _elsewhere(request: Request, missing: Missing) -> Response | None:
    """Where the browser goes instead of the form; None if the form is needed."""
    if missing.is_nothing:
        return _on(request)
    if missing.enroll:
        return see_other(request, page_path(request, "account.factors"))
    return None


def _on(request: Request) -> Response:
    target = request.authsite.next or route_path(request, "authsite.account")
    forget_next(request)
    return go_on(request, target)


def _wanted(request: Request) -> Wanted:
    """What the query, or the form that repeats it, says; unknown values are left out."""
    given: Mapping[str, str] = request.authsite.raw_form or request.GET
    acr, age = given.get("acr_values"), given.get("max_age", "")
    known = acr if acr in (AAL2, PHR) else None
    if not (age.isascii() and age.isdigit() and len(age) <= 16):
        return Wanted(known)
    return Wanted(known, timedelta(seconds=min(int(age), _MAX_AGE)))


def _providers(request: Request, user: SignedInUser, missing: Missing) -> Sequence[Provider]:
    """Where a user without a password can confirm."""
    if not missing.first or missing.by_password:
        return ()
    ctx = request.authsite.ctx
    return identities.may_confirm(ctx.settings, identities.list_of(ctx, user.account.id))


def _query(request: Request) -> dict[str, str]:
    """The query of this page, without what says how it is shown."""
    given: Mapping[str, str] = request.authsite.raw_form or request.GET
    return {name: given[name] for name in ("acr_values", "max_age", "next") if given.get(name)}


def _values(request: Request, user: SignedInUser, missing: Missing) -> dict[str, Any]:
    ctx, given = request.authsite.ctx, request.authsite.raw_form or request.GET
    methods = tuple(dict.fromkeys((*missing.methods, *missing.alone)))
    chosen = given.get("method")
    shown = chosen if chosen in methods else next(iter(missing.methods), None)
    asked = any(each.field == "current_password" for each in request.authsite.form_errors or ())
    pending = step_up.pending_to_show(ctx, user, missing) if shown == PASSKEY else None
    wanted = _query(request)
    return {
        "missing": missing,
        "method": shown,
        "words": words_of(ctx, shown),
        "others": [each for each in methods if each != shown],
        "ways": ways_of(ctx, methods),
        "without_factor": shown is not None and not missing.methods,
        # A passkey that has not verified the user needs the password as well.
        "asks_first": missing.by_password and (shown not in missing.alone or asked),
        "confirms_first": missing.first and not missing.by_password and not missing.confirmed,
        "mail_sent": request.GET.get("sent") or given.get("mail_code") is not None,
        "providers": _providers(request, user, missing),
        "wanted": wanted,
        "address": user.account.email,
        "passkey_options": pending and pending_options(ctx, pending),
        "unsaved": request.GET.get("unsaved"),
        "this_page": route_path(request, ROUTE, _query=wanted),
    }
