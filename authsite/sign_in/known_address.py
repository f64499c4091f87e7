"""The cookie with the e-mail address that a form has just taken.

The page after the form names the address, and the next forms have it already. It is the address as
entered: neither the cookie nor its length depends on whether an account has it. It is signed, since
another host of the domain could set it on plain http, and it opens nothing.
"""

from datetime import timedelta

from pyramid.response import Response

from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.http import cookies
from authsite.platform.http.address import route_path
from authsite.platform.http.errors import ApiError
from authsite.platform.http.forms import Instead
from authsite.platform.http.rendering import go_on
from authsite.platform.http.return_to import forget_next
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings
from authsite.sign_in.fields import read_address
from authsite.users.account import Account
from authsite.users.caller import signed_in

from .identifiers import candidates, normalized_key
from .sessions.csrf import CsrfCause, CsrfError

LIFETIME = timedelta(hours=1)
PURPOSE = "known address"

_FORMAT = SealedFormat("255p")  # a length and at most 254 bytes: RFC 5321, section 4.5.3.1.3


def keep_address(request: Request, email: str) -> None:
    """Keep the address in ``email`` for an hour. Raises what `read_address` raises."""
    address = read_address(email).display.encode()
    expires = int((clock.now() + LIFETIME).timestamp())
    sealed = _FORMAT.seal(request.authsite.services.keys[PURPOSE], address, expires=expires)
    _write(request, sealed, int(LIFETIME.total_seconds()))


def forget_address(request: Request) -> None:
    """Delete the cookie, if the browser has it."""
    if request.authsite.known_address is not None:
        _write(request, "", 0)


def known_address(request: Request) -> str | None:
    """``request.authsite.known_address``: the address that this browser has just entered."""
    value = cookies.read(request, cookies.host_name(request, cookies.ADDRESS))
    if not value:
        return None
    values = _FORMAT.unseal(request.authsite.services.keys[PURPOSE], value, clock.now())
    return values[0].decode() if values else None


def _write(request: Request, value: str, max_age: int) -> None:
    name = cookies.host_name(request, cookies.ADDRESS)
    cookies.write(request, request.response, cookies.Cookie(name, value, max_age))


# A form of a sign-in that is sent after this browser has signed in, in another tab for example.


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
