"""The cookie that binds a way to a provider to the browser in which it began."""

import re
import secrets
from datetime import timedelta

from authsite.platform.http import cookies
from authsite.platform.request_state import Request

LIFETIME = timedelta(minutes=10)
WHILE_A_MAIL_IS_AWAITED = timedelta(hours=1)
_VALUE = re.compile(r"[A-Za-z0-9_-]{43}")  # 256 random bits


def keep_browser(request: Request, lifetime: timedelta = LIFETIME) -> str:
    """Set the cookie, or renew its time; its value, which stays for other tabs of the browser."""
    value = browser_of(request) or secrets.token_urlsafe(32)
    name = cookies.host_name(request, cookies.PROVIDER)
    seconds = int(lifetime.total_seconds())
    cookies.write(request, request.response, cookies.Cookie(name, value, seconds))
    return value


def browser_of(request: Request) -> str | None:
    """The value of the cookie that the browser sent, or None. It is a secret of the browser."""
    value = cookies.read(request, cookies.host_name(request, cookies.PROVIDER))
    return value if value and _VALUE.fullmatch(value) else None
