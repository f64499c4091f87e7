"""Sign in with a passkey on the login page, and the sites that may use the passkeys."""

from typing import Annotated, Any

from pydantic import Field
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.platform.http.bodies import Body, Flag
from authsite.platform.http.errors import FieldError, NotFound, ValidationFailed
from authsite.platform.http.forms import form_view
from authsite.platform.http.rendering import see_other
from authsite.platform.request_state import Request
from authsite.platform.settings.rules import relying_party
from authsite.sign_in import gate, pending
from authsite.sign_in.factors import remembered
from authsite.sign_in.failure_reasons import FailureReason
from authsite.sign_in.known_address import lead_on_signed_in
from authsite.sign_in.login_url import login_url
from authsite.sign_in.method import Pending
from authsite.sign_in.pages import LOGIN, lead_in, login_form
from authsite.sign_in.sessions import cookies, service

from . import assertion, registration


class WrongPasskey(ValidationFailed):
    """Unknown, wrong, or of a disabled user; the audit row of the failure is kept."""

    keeps_writes = True

    def __init__(self) -> None:
        message = FailureReason.WRONG_PASSKEY.person
        super().__init__(details=[FieldError("invalid_credential", None, message)])


class PasskeyForm(Body):
    """What the browser made with a passkey, as JSON text. ``remember``: "stay signed in"."""

    credential: Annotated[str, Field(max_length=64 * 1024)] = ""
    remember: Flag | None = None


@view_config(
    route_name="authsite.login.passkey.options",
    request_method="GET",
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
def options(request: Request) -> dict[str, Any]:
    """What the page's script asks a passkey for. It stores nothing."""
    bound = registration.of_browser(request.authsite.csrf_seed)
    found = assertion.options(request.authsite.ctx, bound, None)
    if found is None:
        raise NotFound
    return found


@form_view(
    "authsite.login.passkey",
    PasskeyForm,
    show=login_form,
    instead=lead_on_signed_in(),
    get=lambda request: see_other(request, login_url(request, request.authsite.next)),
    renderer=LOGIN,
    permission=NO_PERMISSION_REQUIRED,
)
def log_in_with_passkey(request: Request) -> Response:
    """Check the passkey and begin a session under a new id."""
    ctx, form = request.authsite.ctx, request.authsite.validated
    target = remembered.target_of(
        request, remember=form.remember is True, next=request.authsite.next
    )
    given = {"credential": form.credential, "seed": request.authsite.csrf_seed}
    done = gate.sign_in(ctx, assertion.NAME, given, target)
    if done is None:
        raise WrongPasskey
    if isinstance(done, Pending):
        pending.store(ctx, done)
        return lead_in(request, done)
    begun = service.enter(ctx, done, former_key=cookies.session_key(request))
    if begun is None:
        raise WrongPasskey
    return lead_in(request, begun)


@view_config(
    route_name="authsite.passkeys.origins",
    request_method="GET",
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
def related_origins(request: Request) -> dict[str, list[str]]:
    """The sites that may use the passkeys (Web Authentication Level 3, section 5.11)."""
    cfg = request.authsite.settings
    party = relying_party(cfg)
    if party is None or not any(map(_is_site, cfg.passkey_origins)):
        raise NotFound
    return {"origins": list(filter(_is_site, party.origins))}


def _is_site(origin: str) -> bool:
    return origin.startswith("http")
