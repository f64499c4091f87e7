"""The way to a provider: the page with its button, and the button."""

from typing import Annotated, Any

from pydantic import Field
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import Body, MailCode, Password
from authsite.platform.http.errors import MalformedRequest, NotFound
from authsite.platform.http.forms import form_view
from authsite.platform.http.rendering import found, lead_on, page_path, see_other
from authsite.platform.i18n import _
from authsite.platform.request_state import Request
from authsite.platform.settings.sections.providers import Provider
from authsite.sign_in.methods.provider import (
    ProviderRefused,
    Purpose,
    Start,
    begin,
    keeping,
    redirect_uri,
)
from authsite.sign_in.onward import onward_of
from authsite.sign_in.reauthentication import ProofFields, proof_state, require_proof
from authsite.sign_in.signed_in_already import lead_on_signed_in
from authsite.users.caller import signed_in
from authsite.users.identities import service as identities

from ..denials import recording_denials
from .refused import refused

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
