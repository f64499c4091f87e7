"""Sign-in of a program without a browser, such as a command-line tool (RFC 8628).

The program shows an address and a code. The user opens the address in any browser, enters the code
and allows the program. Until then the program asks for its tokens again and again.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from . import clock
from .errors import ApiError, LoginFailed, TemporarilyUnavailable, TooManyAttempts, Unreachable
from .numbers import is_seconds

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
Answer = TypeVar("Answer")
INTERVAL = 5.0  # seconds between two requests, unless authsite says otherwise
SLOWER = 5.0  # seconds that each answer `slow_down` adds
LONGEST = 60.0  # seconds between two requests while authsite cannot be reached


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """What to show to the user: the address ``url``, and the ``code`` to enter there.

    ``url_with_code`` fills the code in, for a link or a QR code. ``expires_at`` is in seconds since
    1970, ``interval`` in seconds.
    """

    url: str
    code: str
    url_with_code: str
    expires_at: float
    interval: float
    device_code: str = field(repr=False)


def show_code(code: DeviceCode) -> None:
    """Print the address and the code on the standard error stream, which no pipe takes away."""
    print(
        f"To sign in, open {code.url} in a browser and enter the code {code.code}",
        file=sys.stderr,
        flush=True,
    )


def read_device_code(body: object, asked_at: float) -> DeviceCode:
    """The response to a request of ``asked_at`` (RFC 8628, section 3.2). Raises ValueError."""
    if not isinstance(body, dict):
        raise ValueError("the response is not an object")
    url, code, device_code = (
        body.get(name) for name in ("verification_uri", "user_code", "device_code")
    )
    whole, lifetime = body.get("verification_uri_complete"), body.get("expires_in")
    interval = body.get("interval", INTERVAL)
    if not (isinstance(url, str) and isinstance(code, str) and isinstance(device_code, str)):
        raise ValueError("the response has no codes")
    if not is_seconds(lifetime) or not is_seconds(interval):
        raise ValueError("expires_in or interval is not a number of seconds")
    return DeviceCode(
        url=url,
        code=code,
        url_with_code=whole if isinstance(whole, str) else url,
        expires_at=asked_at + lifetime,
        interval=float(interval),
        device_code=device_code,
    )


def wait_for_answer(code: DeviceCode, ask: Callable[[], Answer]) -> Answer:
    """What ``ask`` returns at last, which asks for the tokens once (RFC 8628, section 3.5).

    Raises `LoginFailed`, with the ``error`` ``access_denied`` or ``expired_token``; and `ApiError`.
    """
    interval = code.interval
    while True:
        clock.sleep(interval)
        try:
            return ask()
        except (TooManyAttempts, TemporarilyUnavailable) as error:
            clock.sleep(float(error.retry_after or 0))
        except Unreachable:  # ask less often, since it may be busy
            interval = min(max(interval, 1.0) * 2, max(interval, LONGEST))
        except ApiError as error:
            if error.code == "slow_down":
                interval += SLOWER
            elif error.code in ("access_denied", "expired_token"):
                raise LoginFailed(error.code, error.message) from error
            elif error.code != "authorization_pending":
                raise
        if clock.time() >= code.expires_at:
            raise LoginFailed("expired_token", "The user did not answer in time. Sign in again.")
