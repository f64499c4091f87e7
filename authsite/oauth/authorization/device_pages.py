"""The page on which a person enters the code of a device, and allows it or not (RFC 8628, 3.3)."""

from typing import Annotated, Any, NamedTuple

from pydantic import Field
from pyramid.response import Response

from authsite.oauth.authorization import consent_page, service
from authsite.oauth.authorization.checks import Checked, require_key
from authsite.oauth.authorization.incoming import ALLOW, DENY
from authsite.oauth.authorization.pages import refused_page
from authsite.oauth.authorization.request import AuthorizationRequest
from authsite.oauth.authorization.service import SignedIn, Step, Visit, decide
from authsite.oauth.authorization_reasons import AnswerTo, Reason, Refused
from authsite.oauth.clients import registered
from authsite.oauth.codes.service import NewCode
from authsite.oauth.consents import service as consents
from authsite.oauth.device import service as device_service
from authsite.oauth.device.service import Device, expired_user_code
from authsite.oauth.scopes import parse
from authsite.platform.context import Context
from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import Body, Missing
from authsite.platform.http.forms import form_view
from authsite.platform.http.rendering import render_page, see_other
from authsite.platform.i18n import _
from authsite.platform.request_state import Request
from authsite.sign_in.errors import InsufficientUserAuthentication
from authsite.sign_in.login_url import confirm_url, verify_url
from authsite.users import account as agents
from authsite.users.caller import caller_of
from authsite.users.errors import SignInEnded

# What a device asks for, as a request at the authorization endpoint: the same rules hold.


NOWHERE = AnswerTo("", None)  # the device asks for the answer; no redirect leads to it
ASKED = (Step.CONSENT, Step.ANSWER)  # the person is asked in any case


class AskedFor(NamedTuple):
    """A device that waits, and what it asks for."""

    device: Device
    checked: Checked


def asked_for(ctx: Context, device: Device) -> AskedFor:
    """What the device asks for. Raises `UserCodeRefused` if its client was changed or disabled."""
    client = registered.find(ctx, str(device.client_id))
    if client is None or client.epoch != device.client_epoch:
        raise expired_user_code()
    asked = AuthorizationRequest(
        scope=tuple(device.scope.split()),
        state=None,
        nonce=None,
        code_challenge=None,
        prompt=frozenset(),
        max_age=None,
        acr_values=(),
        id_token_hint=None,
        resource=None,
        provider=None,
        login_hint=None,
    )
    return AskedFor(device, Checked(client, NOWHERE, asked, device.scope, device.audience, None))


def step_of(ctx: Context, asked: AskedFor, who: SignedIn) -> Step:
    """What comes first, of all that is asked of a user at the authorization endpoint."""
    return decide(service.state_of(ctx, asked.checked, Visit(who)))[0]


def code_for(ctx: Context, asked: AskedFor, who: SignedIn) -> NewCode:
    """The code that the user allows. Raises `Refused` if no group of the user gives any of it."""
    return NewCode(
        asked.checked.client,
        who.account,
        who.facts,
        redirect_uri=NOWHERE.redirect_uri,
        code_challenge=None,
        scope=service.held_scope(ctx, asked.checked, who),
        audience=asked.checked.audience,
        nonce=None,
        by_consent=asked.checked.needs_consent,
    )


# The page for the code of a device (RFC 8628, section 3.3).
#
# First the code, then the question whether the user has started this, by whatever way they came:
# a link with the code in it can be from anyone who wants to be signed in as them (section 5.4).


PAGE = "authsite:templates/authorization/device.jinja2"
CONFIRM = "authsite:templates/authorization/confirm.jinja2"
ROUTE = "authsite.device.page"


class DeviceForm(Body):
    """The code, and on the second page the answer."""

    user_code: Annotated[
        str, Field(min_length=1, max_length=64), Missing(_("Enter the code of the other device."))
    ]
    decision: Annotated[str, Field(max_length=16)] = ""
    shown: Annotated[str, Field(max_length=2048)] | None = None


def show(request: Request) -> dict[str, Any]:
    """The form; a link may have filled it in, which skips no step."""
    return {
        "state": "enter",
        "filled_in": device_service.shown(request.GET.get("user_code", "")[:64]),
    }


@form_view(ROUTE, DeviceForm, show=show, renderer=PAGE)
def answer(request: Request) -> dict[str, Any] | Response:
    """Show who asks for what, or store the answer of the user."""
    ctx, caller = request.authsite.ctx, caller_of(request)
    given: DeviceForm = request.authsite.validated
    account = caller.acting_user()
    device = device_service.waiting(ctx, account.id, given.user_code)
    if given.decision:
        consents.count(ctx, account.id)
    asked = asked_for(ctx, device)
    if given.decision == DENY:
        device_service.deny(ctx, device, account.id)
        return {"state": "denied", "application": asked.checked.client.name}
    session_id = caller.browser_uuid
    who = service.signed_in(ctx, account, session_id, caller.proved_by) if session_id else None
    if who is None:
        raise SignInEnded
    try:
        return _go_on(request, asked, who, given)
    except Refused as refused:
        service.record_refused(ctx, refused)
        return refused_page(request, refused)


def _go_on(
    request: Request, asked: AskedFor, who: SignedIn, given: DeviceForm
) -> dict[str, Any] | Response:
    ctx = request.authsite.ctx
    require_key(ctx, asked.checked)
    step = step_of(ctx, asked, who)
    if step is Step.VERIFY:
        level = service.level_needed(ctx, asked.checked, who)
        needed = InsufficientUserAuthentication(None, level)
        return see_other(request, verify_url(request, _here(request), needed))
    if step is Step.CONFIRM_ADDRESS:
        return _confirm_address(request, asked, who)
    if step not in ASKED:
        raise service.refused(asked.checked, Reason.GROUP, who.account)
    new = code_for(ctx, asked, who)
    if given.decision == ALLOW and service.was_shown(new.scope, given.shown):
        device_service.approve(ctx, asked.device, new)
        return {"state": "allowed", "application": asked.checked.client.name}
    return _question(request, asked, who, new.scope)


def _question(request: Request, asked: AskedFor, who: SignedIn, scope: str) -> dict[str, Any]:
    """Whether the user has started this: who asks for what, from where and since when."""
    client, resource, login = asked.checked.client, asked.checked.audience, _login(request)
    values = consent_page.values(
        request, client, who.account, parse(scope), "", resource=resource, other_account=login
    )
    device = asked.device
    return {
        **values,
        "state": "question",
        "user_code": device_service.shown(request.authsite.validated.user_code),
        "address": device.address,
        "agent": agents.describe(device.agent),
        "started": device.created_at,
    }


def _confirm_address(request: Request, asked: AskedFor, who: SignedIn) -> Response:
    values = {
        **consent_page.application(request, asked.checked.client, ""),
        "account": who.account,
        "other_account": _login(request),
        "link": confirm_url(request, _here(request)),
        "back": None,
    }
    response = request.response
    response.text = render_page(request, CONFIRM, values)
    response.status_int = 403
    return response


def _login(request: Request) -> str:
    """The login page for another account, which leads back to the code."""
    query = {"prompt": "login", "next": _here(request)}
    return route_path(request, "authsite.login.page", _query=query)


def _here(request: Request) -> str:
    """The path of this page with the code filled in."""
    code = device_service.shown(request.authsite.validated.user_code) or ""
    return route_path(request, ROUTE, _query={"user_code": code})
