"""How a request has come in: `authsite doctor --production` asks the running service.

Behind a proxy the scheme and the host that arrive are not those that the browser has sent. The
answer is for those who have the secret: to others it would tell how the service is set up.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from authsite.platform.crypto.keys import KeyRing
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock

from .address import scheme_and_host
from .address_value import origin_of

QUESTION, ANSWER = "Authsite-Doctor", "authsite-arrived"
LIFETIME = timedelta(minutes=1)


def question(keys: Mapping[str, KeyRing], now: datetime) -> dict[str, str]:
    """The header of a request whose response tells how it has come in."""
    expires = str(int((now + LIFETIME).timestamp()))
    return {QUESTION: f"{expires}.{keys['doctor'].sign(expires.encode())}"}


def answer(request: Request) -> None:
    """Let the response tell the scheme and the host of a request with a valid `question`."""
    asked: str | None = request.headers.get(QUESTION)
    if asked is None:
        return
    expires, _, signature = asked.partition(".")
    ring = request.authsite.services.keys["doctor"]
    if not ring.is_signature(expires.encode(), signature):
        return
    if clock.now().timestamp() < int(expires):
        request.response.headers[ANSWER] = origin_of(*scheme_and_host(request))
