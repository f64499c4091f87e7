"""The requests to one provider: each within its time, all of a return within ten seconds."""

import json
import time
from collections.abc import Mapping
from typing import Any, Final

from structlog import get_logger

from authsite.platform.context import Services
from authsite.platform.http import outbound
from authsite.platform.settings.sections.providers import Provider

from .failures import ProviderFailure, ProviderRefused

log = get_logger("authsite.providers")

REQUEST_SECONDS: Final = 5.0
RETURN_SECONDS: Final = 10.0
LONGEST_ANSWER: Final = 64 * 1024  # bytes
LONGEST_DOCUMENT: Final = 256 * 1024  # bytes, of discovery and keys
_YEAR_10000: Final = 253402300800  # Unix seconds, which a `datetime` cannot have


class Exchange:
    """Requests to ``provider`` until `RETURN_SECONDS` after it was made."""

    def __init__(self, services: Services, provider: Provider) -> None:
        self.services, self.provider = services, provider
        self._ends = time.monotonic() + RETURN_SECONDS

    def document(self, url: str) -> dict[str, Any]:
        """The JSON object at ``url``: discovery or keys. Raises `ProviderRefused`."""
        return self._object(url, self.send("GET", url, limit=LONGEST_DOCUMENT))

    def profile(self, url: str, access_token: str, accept: str = "application/json") -> Any:
        """The JSON that the provider has for an access token; None where it refuses us."""
        headers = {"Accept": accept, "Authorization": f"Bearer {access_token}"}
        answer = self.send("GET", url, headers)
        if answer.status == 429 or answer.status >= 500:
            raise self._unusable(url, f"status {answer.status}")
        return self._json(url, answer) if answer.status == 200 else None

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
        """The JSON object of the token endpoint, which reports an error by a status of 4xx."""
        answer = self.send("POST", url, headers, body)
        return self._object(url, answer, 200, 400, 401)

    def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] = {},
        body: bytes | None = None,
        limit: int = LONGEST_ANSWER,
    ) -> outbound.Answer:
        """One request. Raises `ProviderRefused` (`ProviderFailure.UNREACHABLE`), and `NoSlot`."""
        seconds = min(REQUEST_SECONDS, self._ends - time.monotonic())
        if seconds <= 0:
            raise self._unusable(url, "no time left")
        try:
            return outbound.send(
                self.services,
                self.provider.name,
                method,
                url,
                headers={"Accept": "application/json", **headers},
                body=body,
                limit=limit,
                deadline=seconds,
            )
        except outbound.Unreachable as error:
            raise self._unusable(url, str(error)) from error

    def _object(self, url: str, answer: outbound.Answer, *statuses: int) -> dict[str, Any]:
        if answer.status not in (statuses or (200,)):
            raise self._unusable(url, f"status {answer.status}")
        found = self._json(url, answer)
        if not isinstance(found, dict):
            raise self._unusable(url, "not a JSON object")
        return found

    def _json(self, url: str, answer: outbound.Answer) -> Any:
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError) as error:
            raise self._unusable(url, "not JSON") from error

    def _unusable(self, url: str, cause: str) -> ProviderRefused:
        log.warning("provider_unusable", provider=self.provider.name, url=url, cause=cause)
        return ProviderRefused(ProviderFailure.UNREACHABLE, self.provider, cause=f"{url}: {cause}")


def text_in(found: Mapping[str, Any], name: str) -> str | None:
    """The text ``name`` of a JSON object; None for an empty one, and for other types."""
    value = found.get(name)
    return value if isinstance(value, str) and value else None


def seconds_in(found: Mapping[str, Any], name: str) -> float | None:
    """A NumericDate (RFC 7519, section 2), up to the year 9999; None for other values."""
    value = found.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if 0 <= value < _YEAR_10000 else None  # neither NaN nor infinite
