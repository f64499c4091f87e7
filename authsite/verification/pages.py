"""The redirect page: a mailed link leads here, and a button uses it."""

from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite import clock
from authsite.http.bodies import Body, Email, Url
from authsite.http.errors import ApiError
from authsite.http.rendering import see_other
from authsite.login.identifiers import key_of

from . import service, signed_urls

ASK = "authsite:templates/verification/ask.jinja2"
VERIFY = "authsite:templates/verification/verify.jinja2"


class VerifyForm(Body):
    """The link, handed on by the page's own button."""

    url: Url
    csrf_token: str | None = None


@view_config(
    route_name="authsite.verify.page",
    request_method="GET",
    renderer=VERIFY,
    permission=NO_PERMISSION_REQUIRED,
)
def show(request):
    """A button, if the link is exactly one of ours; nothing is fetched, followed or echoed else."""
    url = request.GET.get("url", "")
    return _page(request, url)


def show_again(request):
    """After a mistake: the button again where the link is still good."""
    return _page(request, request.typed.get("url", ""), mistakes=request.mistakes)


@view_config(
    route_name="authsite.verify.page",
    request_method="POST",
    form=VerifyForm,
    again=show_again,
    renderer=VERIFY,
    permission=NO_PERMISSION_REQUIRED,
)
def verify(request):
    """Verify in process."""
    now = clock.now()
    link = signed_urls.read_own(request.verification_keys, request.given.url, request.base_url, now)
    service.redeem(request.db, now, request.source, link)
    return {"state": "done", "link": None}


def _page(request, url, mistakes=()):
    try:
        signed_urls.read_own(request.verification_keys, url, request.base_url, clock.now())
    except ApiError as error:
        request.response.status_int = error.status
        expired = error.code == "expired_signature"
        return {"state": "expired" if expired else "invalid", "link": None}
    gone = any(item.code == "invalid_signature" for item in mistakes)
    return {"state": "invalid" if gone else "ready", "link": None if gone else url}


class AskForm(Body):
    """Whose address waits to be confirmed."""

    email: Email
    csrf_token: str | None = None


def ask_form(request):
    """The form, or that a message is on its way."""
    return {"sent": request.GET.get("sent")}


@view_config(
    route_name="authsite.ask.page",
    request_method="GET",
    renderer=ASK,
    permission=NO_PERMISSION_REQUIRED,
)
def show_ask(request):
    """The form that asks for a new link without signing in."""
    return ask_form(request)


@view_config(
    route_name="authsite.ask.page",
    request_method="POST",
    form=AskForm,
    again=ask_form,
    throttle="forgot-address",
    renderer=ASK,
    permission=NO_PERMISSION_REQUIRED,
)
def ask(request):
    """Mail a new link if the address waits for one; the answer is the same for every address."""
    page_url = service.page_urls(request.cfg, request.base_url)[0]
    email = request.given.email
    service.ask_by_address(
        request.db, request.cfg, clock.now(), request.source, email, page_url,
        quiet=not request.attempts.allows("forgot-email", key_of("email", email)),
    )  # fmt: skip
    return see_other(request, f"{request.route_path('authsite.ask.page')}?sent=1")
