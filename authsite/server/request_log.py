"""One log line for each request (setting `log-requests`).

The event loop notes each request, and writes the lines of a moment together: a line costs about
two microseconds. A line has the path without the query, since queries contain tokens. Of the path
it has the words of our routes, and ids: any other part may be a token in a mistyped URL (OWASP
Logging Cheat Sheet, "Data to exclude").
"""

import asyncio
import json
import re
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import lru_cache, partial
from multiprocessing.util import Finalize
from typing import Any, NamedTuple

from authsite.platform.denied_requests.reason import shown
from authsite.platform.http.errors import ApiError, denied
from authsite.platform.http.headers import METHODS
from authsite.platform.logs import one_line

DELAY = 0.05  # seconds that a line waits for others
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
EVENT_WIDTH = 30  # characters, as in structlog's `ConsoleRenderer`


_encode = json.JSONEncoder(check_circular=False).encode


class RequestLine(NamedTuple):
    """A request and its response."""

    at: float
    """The time of the response, in seconds since 1970."""
    method: str
    path: str
    status: int
    seconds: float
    """From the head of the request to the response; the wait for the body included."""
    request_id: str
    error: ApiError | None


class RequestLog:
    """The request lines of one worker. Only its event loop uses it.

    ``render``: `as_object` or `as_text`, as in `logs.configure`. ``words``: the parts of paths
    that a line may have.
    """

    def __init__(
        self,
        render: Callable[[RequestLine], str],
        write: Callable[[str], object],
        words: frozenset[str],
    ) -> None:
        self._render, self._write = render, write
        self._shown = lru_cache(256)(partial(shown_path, words))
        self._lines: list[RequestLine] = []
        # Not atexit: a worker that its server has forked ends without it.
        Finalize(None, self.flush, exitpriority=1)

    def note(
        self, environ: dict[str, Any], status: int, headers: list[tuple[str, str]], began: float
    ) -> None:
        """Write a line soon for the response to ``environ``; ``began``: `time.perf_counter`."""
        method = environ["REQUEST_METHOD"]
        if not self._lines:
            asyncio.get_running_loop().call_later(DELAY, self.flush)
        self._lines.append(
            RequestLine(
                time.time(),
                method if method in METHODS else "…",
                self._shown(environ["PATH_INFO"]),
                status,
                time.perf_counter() - began,
                _request_id(headers),
                denied(environ, status),
            )
        )

    def flush(self) -> None:
        """Write the lines that wait."""
        lines, self._lines = self._lines, []
        if lines:
            with suppress(OSError, ValueError):  # a full disk, a closed pipe, a closed stream
                self._write("".join(map(self._render, lines)))


def as_text(line: RequestLine) -> str:
    """The line as structlog's `ConsoleRenderer` would write it."""
    event = f"{line.method} {line.path} {line.status} {line.seconds * 1000:.0f} ms"
    level = "error" if line.status >= 500 else "info"
    text = f"{_moment(line.at)} [{level:<9}] {event:<{EVENT_WIDTH}}"
    if line.error:
        facts = "".join(f" {name}={value!r}" for name, value in facts_of(line.error).items())
        text += f" error={line.error.code} reason={one_line(reason(line.error))!r}{facts}"
    return f"{text} request_id={line.request_id}\n"


def as_object(line: RequestLine) -> str:
    """The line as a JSON object."""
    values: dict[str, object] = {
        "method": line.method,
        "path": line.path,
        "status": line.status,
        "ms": round(line.seconds * 1000, 1),
        "event": "request",
        "request_id": line.request_id,
        "level": "error" if line.status >= 500 else "info",
        "timestamp": _moment(line.at),
    }
    if line.error:
        named = {"error": line.error.code, "reason": one_line(reason(line.error))}
        values = {**facts_of(line.error), **values, **named}
    return _encode(values) + "\n"


def shown_path(words: frozenset[str], path: str) -> str:
    """``path``, a PATH_INFO (PEP 3333), with ``…`` for parts that are neither a word nor an id."""
    parts = path.split("/")
    return "/".join(part if part in words or _ID.fullmatch(part) else "…" for part in parts)


def words_of(patterns: Iterable[str], names: Collection[str]) -> frozenset[str]:
    """The words in the ``patterns`` of routes, and the ``names`` that stand in paths."""
    found = {part for pattern in patterns for part in pattern.split("/") if "{" not in part}
    return frozenset({"", *found, *names, *(name.replace("_", "-") for name in names)})


def reason(error: ApiError) -> str:
    """Why the request was denied: for fields their names and codes, never a value."""
    if error.reason or error.why:
        return error.reason or str(error.why)
    if error.details:
        return ", ".join(f"{item.field or 'request'}: {item.code}" for item in error.details)
    return str(error)


def facts_of(error: ApiError) -> dict[str, str]:
    """What the row of the error's reason means, and what was sent and expected."""
    facts = {name: shown(value) for name, value in error.shown.items()}
    if error.client_id:
        facts = {"client": str(error.client_id), **facts}
    if error.why is None or error.why.meaning == error.reason:
        return facts
    return {"meaning": error.why.meaning, **facts}


def _request_id(headers: list[tuple[str, str]]) -> str:
    for name, value in headers:
        if name == "X-Request-Id":
            return value
    return "-"


def _moment(at: float) -> str:
    second = int(at)
    return f"{_second(second)}.{int((at - second) * 1_000_000):06}Z"


@lru_cache(maxsize=2)
def _second(at: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))
