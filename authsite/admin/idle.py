"""How long ago the console was last used in a browser session: a signed cookie, no row.

Of a sign-in that is older than `admin-idle`, and a cookie that is older or missing, all proofs are
asked for again.
"""

from datetime import UTC, datetime, timedelta

from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.http import cookies
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.users.caller import Caller
from authsite.users.levels import is_old

PURPOSE = "admin idle"
FORMAT = SealedFormat("Q")  # when the console was used, in Unix seconds
RENEW_AFTER = timedelta(minutes=1)


def is_idle(request: Request, caller: Caller) -> bool:
    """Whether neither the sign-in nor the last use is more recent than `admin-idle`."""
    limit, now = request.authsite.settings.admin_idle, clock.now()
    return is_old(caller.auth_at, limit, now) and is_old(_last_use(request, caller), limit, now)


def note(request: Request, caller: Caller) -> None:
    """Write the cookie, unless that was done within the last minute, or tenth of `admin-idle`."""
    now, lasts = clock.now(), request.authsite.settings.admin_idle
    if not is_old(_last_use(request, caller), min(RENEW_AFTER, lasts / 10), now):
        return
    value = FORMAT.seal(
        request.authsite.services.keys[PURPOSE],
        int(now.timestamp()),
        expires=int((now + lasts).timestamp()),
        bound=_bound(caller),
    )
    name = cookies.host_name(request, cookies.ADMIN)
    cookie = cookies.Cookie(name, value, int(lasts.total_seconds()))
    request.add_response_callback(
        lambda _request, response: cookies.write(request, response, cookie)
    )


def _last_use(request: Request, caller: Caller) -> datetime | None:
    value = cookies.read(request, cookies.host_name(request, cookies.ADMIN))
    if not value:
        return None
    ring = request.authsite.services.keys[PURPOSE]
    fields = FORMAT.unseal(ring, value, clock.now(), _bound(caller))
    return datetime.fromtimestamp(fields[0], UTC) if fields else None


def _bound(caller: Caller) -> bytes:
    return caller.browser_uuid.bytes if caller.browser_uuid else b""
