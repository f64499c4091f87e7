"""`/login/verify`: a signed-in user proves again, or more, who they are; see `sign_in.step_up`.

The query says what is needed, as the guard that led here knows it: ``acr_values`` and ``max_age``.
A person who changes it gets another form, and then the answer of the guard again: nothing is opened
by it. The page leads on only when nothing of that is missing, so that it is never left unmet.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any

from pydantic import Field
from pyramid.response import Response

from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import Body, CurrentPassword, MailCode
from authsite.platform.http.forms import form_view
from authsite.platform.http.rendering import go_on, page_path, see_other
from authsite.platform.http.return_to import forget_next
from authsite.platform.request_state import Request
from authsite.platform.settings.sections.providers import Provider
from authsite.sign_in import step_up
from authsite.sign_in.factors.names import PASSKEY
from authsite.sign_in.method import ways_of, words_of
from authsite.sign_in.methods.mail_code.session_codes import send_to_session
from authsite.sign_in.methods.passkeys.assertion import pending_options
from authsite.sign_in.methods.passkeys.credentials import MAX_SIZE
from authsite.sign_in.sessions import cookies
from authsite.sign_in.step_up import Given, Missing, Wanted
from authsite.sign_in.verify_url import MAIL_ROUTE, ROUTE
from authsite.users.account import SignedInUser
from authsite.users.caller import caller_of
from authsite.users.identities import service as identities
from authsite.users.levels import AAL2, PHR

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
