"""A form of a sign-in that is sent after this browser has signed in, in another tab for example."""

from pyramid.response import Response

from authsite.platform.http.address import route_path
from authsite.platform.http.errors import ApiError
from authsite.platform.http.forms import Instead
from authsite.platform.http.rendering import go_on
from authsite.platform.http.return_to import forget_next
from authsite.platform.request_state import Request
from authsite.platform.settings import Settings
from authsite.users.account import Account
from authsite.users.caller import signed_in

from .identifiers import candidates, normalized_key
from .sessions.csrf import CsrfCause, CsrfError


def onward_target(request: Request) -> str:
    """The target of the redirect after a login; deletes the cookie that keeps ``next``."""
    target = request.authsite.next or route_path(request, "authsite.account")
    forget_next(request)
    return target


def lead_on_signed_in(field: str | None = None) -> Instead:
    """What a form of a sign-in does for `CsrfCause.SIGNED_IN`, for ``form_view(instead=…)``.

    It goes on to ``next``, unless ``field`` has a login name of another user than the one who is
    signed in. Nothing of the form is used, so this is what the page does at GET.
    """

    def instead(request: Request, error: ApiError) -> Response | None:
        if not isinstance(error, CsrfError) or error.cause is not CsrfCause.SIGNED_IN:
            return None
        caller = signed_in(request)
        name = str(request.authsite.raw_form.get(field) or "") if field else ""
        if caller is None or not _may_be(request.authsite.settings, caller.acting_user(), name):
            return None
        return go_on(request, onward_target(request))

    return instead


def _may_be(cfg: Settings, account: Account, name: str) -> bool:
    """Whether ``name`` is empty, or a login name of the user."""
    if not name.strip():
        return True
    region = cfg.phone_region
    own = {
        normalized_key(kind, text, region)
        for kind in ("email", "username", "phone")
        if (text := getattr(account, kind))
    }
    typed = candidates(name, ("email", *cfg.login_identifiers), region)
    return any(each.key in own for each in typed)
