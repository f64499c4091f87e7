"""The ``device`` cookie of a recognized browser; `recognized` makes and reads its value."""

from authsite.platform.http import cookies
from authsite.platform.request_state import Request

from .recognized import RECOGNIZED_FOR


def set_cookie(request: Request) -> None:
    """Set the cookie for the user whom this request has just proved to be, if it has.

    That is after a login, and after a link that the user opened to recover the account.
    """
    value = request.authsite.ctx.limits.new_device_cookie()
    if value is None:
        return
    name = cookies.host_name(request, cookies.DEVICE)
    cookie = cookies.Cookie(name, value, int(RECOGNIZED_FOR.total_seconds()))
    cookies.write(request, request.response, cookie)


def sent_cookie(request: Request) -> str | None:
    """The ``device`` cookie as the browser sent it, or None; its value proves nothing yet."""
    return cookies.read(request, cookies.host_name(request, cookies.DEVICE))
