"""The form of a confirming page during a step-up: a sealed cookie, no row.

The page that asks for more leads back to the confirming page, which then has the fields again. Only
its button acts.
"""

import json
import zlib
from datetime import timedelta

from pyramid.httpexceptions import HTTPException

from authsite.platform.crypto.sealing import Binding, Unusable
from authsite.platform.http import cookies
from authsite.platform.http.address import path_qs
from authsite.platform.http.bodies import values_of
from authsite.platform.http.errors import ApiError
from authsite.platform.http.forms import SECRET_FIELDS
from authsite.platform.http.headers import SAFE_METHODS
from authsite.platform.http.rendering import found
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.sign_in.errors import InsufficientUserAuthentication
from authsite.sign_in.login_url import verify_url
from authsite.users.caller import caller_of

LIFETIME = timedelta(minutes=15)
MAX_LENGTH = 3800  # characters of the value; browsers keep 4,096 bytes of a cookie
MAX_SIZE = 64 * 1024  # bytes of the fields


def keep(request: Request) -> bool:
    """Let the response keep the form that is sent; False if it is none of ours, or too long."""
    if request.method in SAFE_METHODS:
        return False
    try:
        fields = values_of(request, form_only=True)
        request.authsite.check_csrf(fields.get("csrf_token"))
    except ApiError:
        return False
    given = {name: value for name, value in fields.items() if name not in SECRET_FIELDS}
    expires = int((clock.now() + LIFETIME).timestamp())
    text = json.dumps([path_qs(request), expires, given], ensure_ascii=False).encode()
    if len(text) > MAX_SIZE:
        return False
    sealing = request.authsite.services.sealing
    value = sealing.seal(zlib.compress(text), _binding(request))
    if len(value) > MAX_LENGTH:
        return False
    _write(request, value, int(LIFETIME.total_seconds()))
    return True


def redirect(request: Request, error: InsufficientUserAuthentication) -> HTTPException:
    """To the page that asks for what ``error`` says, and from there back to the kept form."""
    return found(request, verify_url(request, path_qs(request), error))


def restore(request: Request) -> None:
    """Show the kept form, if it is one of this page, and let the response forget it."""
    value = cookies.read(request, cookies.host_name(request, cookies.ADMIN_FORM))
    if not value or request.method not in SAFE_METHODS:
        return
    try:
        raw = request.authsite.services.sealing.open(value, _binding(request))
    except Unusable:
        return
    path, expires, given = json.loads(zlib.decompressobj().decompress(raw, MAX_SIZE))
    if path != path_qs(request):
        return
    _write(request, "", 0)
    if expires > clock.now().timestamp():
        request.authsite.form_data = given


def _write(request: Request, value: str, max_age: int) -> None:
    name = cookies.host_name(request, cookies.ADMIN_FORM)
    cookie = cookies.Cookie(name, value, max_age)
    request.add_response_callback(
        lambda _request, response: cookies.write(request, response, cookie)
    )


def _binding(request: Request) -> Binding:
    caller = caller_of(request)
    return Binding("admin form", caller.browser_uuid or "", caller.acting_user().id)
