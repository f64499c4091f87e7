"""The cookie with the key of a pending login. It opens nothing."""

from authsite.platform.http import cookies
from authsite.platform.request_state import Request

from .pending import LIFETIME

MAX_LENGTH = 128


def keep_key(request: Request, key: str) -> None:
    """Set the cookie, for as long as the pending login lasts."""
    _write(request, key, int(LIFETIME.total_seconds()))


def read_key(request: Request) -> str | None:
    """The key that the browser sent, or None."""
    value = cookies.read(request, cookies.host_name(request, cookies.LOGIN))
    return value if value and len(value) <= MAX_LENGTH else None


def forget_key(request: Request) -> None:
    """Delete the cookie, if the browser has it."""
    if read_key(request) is not None:
        _write(request, "", 0)


def _write(request: Request, value: str, max_age: int) -> None:
    name = cookies.host_name(request, cookies.LOGIN)
    cookies.write(request, request.response, cookies.Cookie(name, value, max_age))
