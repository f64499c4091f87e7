"""Log lines: JSON for machines in production, readable ones on a developer's terminal.

Control characters are escaped in both, so that nothing a caller sends can start a line of its
own (ASVS 16.4.1). Events carry names and ids; never passwords, tokens or query strings.
"""

import logging
import sys
from typing import Any

import structlog

from authsite.http.edge import REQUEST_ID

MAX_VALUE = 2000  # characters


def be_safe() -> None:
    """Where nobody configured structlog: plain lines through the standard library's logging.

    structlog's own default would print the local variables of a traceback, passwords included.
    """
    if not structlog.is_configured():
        structlog.configure(
            processors=[
                _with_request_id,
                structlog.processors.format_exc_info,
                _tame,
                structlog.processors.KeyValueRenderer(key_order=["event"]),
            ],
            logger_factory=structlog.stdlib.LoggerFactory(),
        )


def configure(*, as_json: bool) -> None:
    """Send structlog's and the standard library's lines to stderr, in one format."""
    shared: list[Any] = [
        _with_request_id,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _tame,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer() if as_json
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )  # fmt: skip
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.raiseExceptions = False  # a full disk or a closed pipe must not fail a request
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)


def _with_request_id(_logger: Any, _method: str, event: Any) -> Any:
    request_id = REQUEST_ID.get()
    if request_id:
        event["request_id"] = request_id
    return event


def _tame(_logger: Any, _method: str, event: Any) -> dict[str, Any]:
    """Cut long values and escape what is not printable; a traceback keeps its lines."""
    return {name: value if name == "exception" else _one_line(value)
            for name, value in event.items()}  # fmt: skip


def _one_line(value: Any) -> Any:
    if not isinstance(value, str) or (value.isprintable() and len(value) <= MAX_VALUE):
        return value
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in value[:MAX_VALUE]
    )
