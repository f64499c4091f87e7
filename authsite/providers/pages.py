"""The pages of signing in with another provider."""

import uuid
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

from pydantic import Field
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import exception_view_config, view_config

from authsite.platform.db.transaction import transaction
from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import (
    Body,
    Consent,
    Email,
    Identifier,
    MailCode,
    MaybeEmpty,
    Password,
    Token,
)
from authsite.platform.http.errors import ERROR_OF_REQUEST, ApiError, MalformedRequest, NotFound
from authsite.platform.http.forms import form_view, password_check, rating, set_errors
from authsite.platform.http.rendering import (
    found,
    go_on,
    lead_on,
    page_path,
    render_page,
    see_other,
)
from authsite.platform.http.rendering import found as redirect
from authsite.platform.i18n import _, duration_words
from authsite.platform.passwords import policy
from authsite.platform.request_state import Request
from authsite.platform.settings.sections.providers import Provider
from authsite.sign_in.factors.remembered import remembered_cookie
from authsite.sign_in.known_address import lead_on_signed_in
from authsite.sign_in.login_url import onward_of
from authsite.sign_in.methods.provider import (
    WHILE_A_MAIL_IS_AWAITED,
    ProvidedIdentity,
    ProviderFailure,
    ProviderRefused,
    Purpose,
    Returned,
    Start,
    begin,
    browser_of,
    came_back,
    finish,
    keep_browser,
    keeping,
    redirect_uri,
    stating,
)
from authsite.sign_in.methods.provider.failures import ADDRESS_ASKED, LINK_MAILED
from authsite.sign_in.pages import LOGIN, lead_in, login_form
from authsite.sign_in.reauthentication import ProofFields, proof_state, require_proof
from authsite.sign_in.sessions import cookies
from authsite.signup.service import asked_fields
from authsite.users import identities
from authsite.users.caller import Caller, signed_in

from . import creating, linking, owning, waiting
from .entering import Browser, enter_known
from .known_accounts import Found, Step, look, may_start_afresh, recording_denials
from .linking.service import Changed
from .visits import Visit, mail_link, open_visit, read_entered, record_address_asked, require_step
from .waiting import Waiting

# The page of a way to a provider that ends.


REFUSED = "authsite:templates/providers/refused.jinja2"


@exception_view_config(ProviderRefused)
def refused(error: ProviderRefused, request: Request) -> Response:
    """What happened in plain words, what to do next, and the id of the request."""
    request.environ[ERROR_OF_REQUEST] = error
    response = Response(render_page(request, REFUSED, {"error": error}))
    response.status_int = error.status
    return response


# The way to a provider: the page with its button, and the button.


START = "authsite:templates/providers/start.jinja2"


class StartForm(Body):
    """The button of a provider."""

    purpose: str = Purpose.SIGN_IN  # see `_purpose`: every unknown one is the same error
    remember: Annotated[str, Field(max_length=8)] | None = None
    current_password: Password | None = None
    mail_code: MailCode = None


def provider_of(request: Request) -> Provider:
    """The provider in the path. Raises `NotFound`."""
    provider = request.authsite.settings.provider(request.matchdict["name"])
    if provider is None:
        raise NotFound
    return provider


def start_page(request: Request) -> dict[str, Any]:
    """The page with the button, also after a mistake."""
    given = request.authsite.form_data or request.GET
    purpose, caller = given.get("purpose", Purpose.SIGN_IN), signed_in(request)
    asks_password = False
    if purpose == Purpose.LINK and caller:
        user = caller.signed_in_user()
        asks_password = proof_state(request.authsite.ctx, user).by_password
    return {
        "provider": provider_of(request),
        "purpose": purpose,
        "remember": given.get("remember"),
        "asks_password": asks_password,
    }


def show_start(request: Request) -> dict[str, Any] | Response:
    """The page with the button, at the first base URL."""
    if elsewhere := _at_first_address(request):
        return found(request, elsewhere)
    return {**start_page(request), "purpose": Purpose.SIGN_IN, "asks_password": False}


@form_view(
    "authsite.provider.start",
    StartForm,
    show=start_page,
    get=show_start,
    instead=lead_on_signed_in(),
    renderer=START,
    permission=NO_PERMISSION_REQUIRED,
)
def start(request: Request) -> Response:
    """Lead the browser to the provider, by way of a page: see `go_on` about ``form-action``."""
    provider, given = provider_of(request), request.authsite.validated
    purpose = _purpose(given.purpose)
    if elsewhere := _at_first_address(request):
        return lead_on(request, elsewhere, reason="provider")
    ctx, caller = request.authsite.ctx, signed_in(request)
    if purpose is not Purpose.SIGN_IN and caller is None:
        return see_other(request, page_path(request, "login.page"))
    ctx.limits.count("login-address", ctx.limits.address)
    session_id = caller.browser_uuid if caller and purpose is not Purpose.SIGN_IN else None
    onward = onward_of(request) if purpose is Purpose.SIGN_IN else None
    hint, max_age = (onward.login_hint, onward.max_age) if onward else (None, None)
    prompted = purpose is Purpose.CONFIRM or bool(onward and onward.wants_login)
    next_ = request.authsite.next
    going = Start(purpose, given.remember is not None, next_, session_id, prompted)
    if purpose is Purpose.CONFIRM and caller:
        hint = identities.address_at(ctx, caller.acting_user().id, provider.name)

    def begun() -> str:
        with keeping(going), recording_denials(ctx):
            return begin(request, provider, going, login_hint=hint, max_age=max_age)

    try:
        if purpose is Purpose.LINK and caller:
            fields = ProofFields.of(given)
            url = require_proof(ctx, caller.signed_in_user(), fields, before_writing=begun)
        else:
            url = begun()
    except ProviderRefused as error:  # its page, with the request id, and not this form again
        return refused(error, request)
    return lead_on(request, url, reason="provider")


def _purpose(text: str) -> Purpose:
    try:
        return Purpose(text)
    except ValueError:
        message = _("This button is not known here. Go back, reload the page and try again.")
        raise MalformedRequest(message) from None


def _at_first_address(request: Request) -> str | None:
    """The URL of the page at the first base URL, unless the request is there.

    Only its redirect URI is registered, and the cookie has to be there.
    """
    own = request.authsite.address
    first = redirect_uri(request, provider_of(request)).removesuffix("/return")
    if first == f"{own.base_url}/login/with/{request.matchdict['name']}":
        return None
    query = route_path(
        request,
        "authsite.provider.start",
        name=request.matchdict["name"],
        _query={
            name: value
            for name in ("next", "remember")
            if (value := (request.authsite.raw_form or request.GET).get(name))
        },
    ).partition("?")[2]
    return f"{first}?{query}" if query else first


# The return from a provider.


@view_config(
    route_name="authsite.provider.return",
    request_method="GET",
    spends=True,
    permission=NO_PERMISSION_REQUIRED,
)
def come_back(request: Request) -> Response:
    """Check what the provider says, and go on with it: sign in, or lead to the page that asks."""
    ctx, provider = request.authsite.ctx, provider_of(request)
    if request.method == "HEAD":  # a safe method: the return stays for the GET
        return request.response
    subject = provider.name, ctx.limits.address
    with recording_denials(ctx, *subject):
        state = came_back(request, provider)
    ctx.limits.count("login-address", ctx.limits.address)
    with recording_denials(ctx), ctx.limits.failures("provider-failures", *subject):
        returned = finish(request, provider, state)
        if returned.start.purpose is Purpose.SIGN_IN:
            return _sign_in(request, provider, returned)
        return _for_signed_in(request, provider, returned)


def _for_signed_in(request: Request, provider: Provider, returned: Returned) -> Response:
    """Link the identity to the signed-in user, or take it as a proof of a sensitive change.

    Only in the session in which that began: its user gave the proof, or asked for one.
    """
    provided, caller = returned.provided, signed_in(request)
    if caller is None or caller.browser_uuid != returned.start.session_id:
        raise ProviderRefused(ProviderFailure.SIGNED_OUT, provider, subject=provided.subject)
    with keeping(returned.start), stating(provided.scopes):
        return _linked_or_confirmed(request, caller, returned)


def _linked_or_confirmed(request: Request, caller: Caller, returned: Returned) -> Response:
    ctx, provided = request.authsite.ctx, returned.provided
    if returned.start.purpose is Purpose.LINK:
        done = "connected"
        with transaction(request):
            linking.link(ctx, caller, provided)
    else:
        done = "confirmed"
        with transaction(request):
            renewed = linking.confirm(ctx, caller, provided)
        cookies.renew_session(request, renewed)
    page = returned.start.next or route_path(request, "authsite.account.security")
    return go_on(request, _with_done(page, done))


def _with_done(page: str, done: str) -> str:
    """``page`` with what was done; the page `/login/verify` has in its query what it asks for."""
    path, _, query = page.partition("?")
    others = [each for each in parse_qsl(query, keep_blank_values=True) if each[0] != "done"]
    return f"{path}?{urlencode([*others, ('done', done)])}"


def _sign_in(request: Request, provider: Provider, returned: Returned) -> Response:
    ctx, provided = request.authsite.ctx, returned.provided
    with keeping(returned.start):
        found = look(ctx, provider, provided)
        refuse(provider, found, provided)
    if found.step is Step.SIGN_IN:
        return _enter(request, found, returned)
    with transaction(request):
        waits = _keep(request, provider, returned, found)
    return see_other(request, step_path(request, provider, waits.id))


def _enter(request: Request, found: Found, returned: Returned) -> Response:
    """Begin the session, or show the login page with the error of a wrong password."""
    start = returned.start
    key, remembered = cookies.session_key(request), remembered_cookie(request)
    browser = Browser(key, start.remember, start.next, remembered, start.prompted)
    if found.known is None:
        raise RuntimeError("a known identity has a user")
    try:
        with transaction(request):
            outcome = enter_known(request.authsite.ctx, found.known, returned.provided, browser)
    except ApiError as error:
        set_errors(request, error)
        response: Response = request.response
        response.text = render_page(request, LOGIN, login_form(request))
        return response
    return lead_in(request, outcome)


def _keep(request: Request, provider: Provider, returned: Returned, found: Found) -> Waiting:
    """Keep what was told for the next page, and mail a link where that has to prove the address."""
    ctx, start = request.authsite.ctx, returned.start
    waits = Waiting(
        uuid.uuid4(),
        browser_of(request) or "",
        returned.provided,
        start.remember,
        start.next,
        found.address,
        prompted=start.prompted,
    )
    if found.step is Step.PROVE_ADDRESS and found.address is not None:
        keep_browser(request, WHILE_A_MAIL_IS_AWAITED)
        waits = mail_link(ctx, provider, waits, found.address)  # which counts before it writes
    else:
        keep_browser(request)
        waiting.keep(ctx, waits)
    if found.step in (Step.ASK_ADDRESS, Step.PROVE_ADDRESS):
        record_address_asked(ctx, found, returned.provided)
    return waits


def refuse(provider: Provider, found: Found, provided: ProvidedIdentity) -> None:
    """Raises `ProviderRefused` where the next step is a refusal."""
    failure = {
        Step.NOT_ALLOWED: ProviderFailure.DOMAIN,
        Step.CLOSED: ProviderFailure.REGISTRATION_CLOSED,
    }.get(found.step)
    if failure:
        details = dict(provided.scopes)
        if failure is ProviderFailure.DOMAIN:
            details["expected"] = " ".join(provider.domains)
        raise ProviderRefused(failure, provider, subject=provided.subject, details=details)


def step_path(request: Request, provider: Provider, key: uuid.UUID, **more: Any) -> str:
    """The path of the page of the next step."""
    query = {"key": str(key), **more}
    return route_path(request, "authsite.provider.step", name=provider.name, _query=query)


# The pages after a return: one page for each step of the decision, and their forms.


STEP = "authsite:templates/providers/step.jinja2"
_PARTS = {
    Step.CREATE: "create",
    Step.CONNECT: "connect",
    Step.CONNECT_LATER: "later",
    Step.CLAIM: "claim",
    Step.SIGN_IN: "enter",
}
Key = Annotated[str, Field(max_length=64)]


class StepForm(Body):
    """What every form of a step sends: the key of what waits, or the token of the mailed link."""

    key: Key = ""
    token: Token | None = None


class AddressForm(StepForm):
    """The address that the provider has not told."""

    email: Email


class CreateForm(StepForm):
    """The data of a new user. ``afresh``: the account with the address is erased."""

    name: MaybeEmpty | None = None
    username: Identifier | None = None
    phone: Identifier | None = None
    terms_accepted: Consent | None = None
    afresh: Annotated[str, Field(max_length=8)] | None = None


class ProofForm(StepForm):
    """The password of the account, or a new one after a mailed link."""

    password: Password | None = None


class CheckForm(ProofForm):
    """A new password while it is typed."""

    password: Password


def _open(request: Request, given: Mapping[str, str]) -> Visit:
    """What waits; of a form its fields count, else the path or the query."""
    ctx, provider = request.authsite.ctx, provider_of(request)
    with recording_denials(ctx):
        visit = open_visit(
            ctx, provider, browser_of(request), given.get("key") or "", given.get("token")
        )
        refuse(provider, visit.found, visit.waiting.provided)
        if visit.found.step is Step.SIGN_IN and not visit.by_mail:  # another tab has finished
            raise ProviderRefused(ProviderFailure.ENDED, provider)
    return visit._replace(remembered=remembered_cookie(request))


def _sent(request: Request) -> Visit:
    """What the validated form is about."""
    return _open(request, request.authsite.validated.model_dump(exclude_none=True))


def show(request: Request) -> dict[str, Any]:
    """The page of the next step, also after a mistake in its form."""
    given = request.authsite.raw_form or {**request.GET, **request.matchdict}
    return _page(request, _open(request, given), given)


def _page(request: Request, visit: Visit, given: Mapping[str, str]) -> dict[str, Any]:
    ctx, provided, holder = request.authsite.ctx, visit.waiting.provided, visit.found.holder
    caller, label = signed_in(request), {"provider": visit.provider.label}
    afresh = holder is not None and may_start_afresh(ctx, visit.provider, holder)
    return {
        "part": _part(visit, given, may_start_afresh=afresh),
        "provider": visit.provider,
        "key": str(visit.waiting.id),
        "token": given.get("token") if visit.by_mail else None,
        "address": visit.found.address,
        "provided": provided,
        "address_asked": _(ADDRESS_ASKED, mapping=label),
        "link_mailed": _(LINK_MAILED, mapping=label),
        "may_change_address": _may_change_address(visit),
        "holder": holder.account if holder else None,
        "asked": asked_fields(ctx, request.authsite.form_data),
        "may_start_afresh": afresh,
        "afresh": bool(given.get("afresh")),
        "connected": owning.is_signed_in_with_identity(
            ctx, visit, caller.signed_in_user() if caller else None
        ),
        "others": owning.other_providers(ctx, visit),
        "lifetime": duration_words(WHILE_A_MAIL_IS_AWAITED, ctx.request_info.language),
    }


def _part(visit: Visit, given: Mapping[str, str], *, may_start_afresh: bool) -> str:
    """The template of the step."""
    step = visit.found.step
    changes = step is Step.PROVE_ADDRESS and given.get("other") and _may_change_address(visit)
    if step is Step.ASK_ADDRESS or changes:
        return "address"
    if visit.waiting.mailed_at and not visit.by_mail:
        return "check"
    if step is Step.CLAIM and given.get("afresh") and may_start_afresh:
        return "create"
    return _PARTS[step]


def _may_change_address(visit: Visit) -> bool:
    """Whether the person may enter another address.

    That of a known identity is the one that was told, or proved before: the mailbox of another
    person of the company proves nothing about this person.
    """
    return not visit.waiting.provided.trusted and visit.found.known is None


page = partial(view_config, request_method="GET", renderer=STEP, permission=NO_PERMISSION_REQUIRED)


@page(route_name="authsite.provider.step")
def show_step(request: Request) -> dict[str, Any]:
    """The page of the next step; opening it changes nothing."""
    return show(request)


@page(route_name="authsite.provider.link")
def show_link(request: Request) -> dict[str, Any]:
    """The page of a mailed link, in the browser that began; its forms have the token."""
    return show(request)


def to_start(request: Request) -> Response:
    """Redirect the path of a form, which is in the address bar after a mistake, to the start."""
    name = request.matchdict["name"]
    return redirect(request, route_path(request, "authsite.provider.start", name=name))


step_form = partial(
    form_view, show=show, get=to_start, renderer=STEP, permission=NO_PERMISSION_REQUIRED
)


@step_form("authsite.provider.address", AddressForm, rate_limit="verification-address")
def enter_address(request: Request) -> Response:
    """Mail a link to the address that was entered."""
    visit = _sent(request)
    require_step(visit, Step.ASK_ADDRESS, Step.PROVE_ADDRESS)
    if not _may_change_address(visit):
        raise Changed
    return _mail(request, visit, read_entered(visit, request.authsite.validated.email))


@step_form("authsite.provider.mail", StepForm, rate_limit="verification-address")
def mail(request: Request) -> Response:
    """Mail a link to the address again, or as the proof of an account that is there."""
    visit = _sent(request)
    require_step(visit, Step.PROVE_ADDRESS, Step.CONNECT, Step.CLAIM)
    return _mail(request, visit, visit.address)


def _mail(request: Request, visit: Visit, address: str) -> Response:
    mailed = mail_link(request.authsite.ctx, visit.provider, visit.waiting, address)
    keep_browser(request, WHILE_A_MAIL_IS_AWAITED)
    return see_other(request, step_path(request, visit.provider, mailed.id))


@step_form("authsite.provider.create", CreateForm, rate_limit="register-address")
def create(request: Request) -> Response:
    """Create the user, and sign in."""
    visit, given = _sent(request), request.authsite.validated
    new = creating.NewUser(given.name, given.username, given.phone, given.terms_accepted)
    former, afresh = cookies.session_key(request), given.afresh is not None
    outcome = creating.create(request.authsite.ctx, visit, new, former, afresh=afresh)
    return lead_in(request, outcome)


@step_form("authsite.provider.enter", StepForm)
def enter(request: Request) -> Response:
    """Sign in the user of a known identity, whose address was proved."""
    visit, former = _sent(request), cookies.session_key(request)
    return lead_in(request, owning.enter_proved(request.authsite.ctx, visit, former))


@step_form("authsite.provider.connect", ProofForm)
def connect(request: Request) -> Response:
    """Link the identity to the account whose password was given, and sign in."""
    visit, password = _sent(request), request.authsite.validated.password
    former = cookies.session_key(request)
    return lead_in(request, owning.connect(request.authsite.ctx, visit, password, former))


@step_form("authsite.provider.join", StepForm)
def join(request: Request) -> Response:
    """Link the identity to the account that is signed in with another identity."""
    visit, caller = _sent(request), signed_in(request)
    user, former = caller.signed_in_user() if caller else None, cookies.session_key(request)
    outcome = owning.connect_signed_in(request.authsite.ctx, visit, user, former)
    return lead_in(request, outcome)


@step_form("authsite.provider.recover", ProofForm)
def recover(request: Request) -> Response:
    """Link the identity to the account whose mailbox was proved, and sign in."""
    visit, password = _sent(request), request.authsite.validated.password
    former = cookies.session_key(request)
    return lead_in(request, owning.recover(request.authsite.ctx, visit, password, former))


@password_check("authsite.provider.check", CheckForm, permission=NO_PERMISSION_REQUIRED)
def check(request: Request) -> dict[str, Any]:
    """Rate a new password while it is typed."""
    visit = _sent(request)
    holder = visit.found.holder
    person = holder.account if holder else policy.Applicant(visit.address, None, None, None)
    return rating(request, request.authsite.validated.password, person)
