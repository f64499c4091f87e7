"""The return from a provider."""

import uuid
from typing import Any
from urllib.parse import parse_qsl, urlencode

from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.platform.db.transaction import transaction
from authsite.platform.http.address import route_path
from authsite.platform.http.errors import ApiError
from authsite.platform.http.forms import set_errors
from authsite.platform.http.rendering import go_on, render_page, see_other
from authsite.platform.request_state import Request
from authsite.platform.settings.sections.providers import Provider
from authsite.sign_in.factors.browser import remembered_cookie
from authsite.sign_in.methods.provider import (
    WHILE_A_MAIL_IS_AWAITED,
    ProvidedIdentity,
    ProviderFailure,
    ProviderRefused,
    Purpose,
    Returned,
    browser_of,
    came_back,
    finish,
    keep_browser,
    keeping,
    stating,
)
from authsite.sign_in.pages import LOGIN, lead_in, login_form
from authsite.sign_in.sessions import cookies
from authsite.users.caller import Caller, signed_in

from .. import linking, waiting
from ..decision import Step
from ..denials import recording_denials
from ..entering import Browser, enter_known
from ..known_accounts import Found, look
from ..visits import mail_link, record_address_asked
from ..waiting import Waiting
from .start import provider_of


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
