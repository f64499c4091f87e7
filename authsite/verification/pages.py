"""The redirect page: a mailed link leads here, and a button uses it."""

from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite import clock
from authsite.http.bodies import Body, Url
from authsite.http.errors import ApiError

from . import service, signed_urls

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
