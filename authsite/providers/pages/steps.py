"""The pages after a return: one page for each step of the decision, and their forms."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import Field
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import (
    Body,
    Consent,
    Email,
    Identifier,
    MaybeEmpty,
    Password,
    Token,
)
from authsite.platform.http.forms import form_view, password_check, rating
from authsite.platform.http.rendering import found as redirect
from authsite.platform.http.rendering import see_other
from authsite.platform.i18n import _, duration_words
from authsite.platform.passwords import policy
from authsite.platform.request_state import Request
from authsite.sign_in.factors.browser import remembered_cookie
from authsite.sign_in.methods.provider import (
    WHILE_A_MAIL_IS_AWAITED,
    ProviderFailure,
    ProviderRefused,
    browser_of,
    keep_browser,
)
from authsite.sign_in.methods.provider.failures import ADDRESS_ASKED, LINK_MAILED
from authsite.sign_in.pages import lead_in
from authsite.sign_in.sessions import cookies
from authsite.signup.service import asked_fields
from authsite.users.caller import signed_in

from .. import creating, owning
from ..decision import Step
from ..denials import recording_denials
from ..errors import Changed
from ..known_accounts import may_start_afresh
from ..visits import Visit, mail_link, open_visit, read_entered, require_step
from .back import refuse, step_path
from .start import provider_of

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
