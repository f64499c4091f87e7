"""The format of log lines: JSON in production, text on a developer's terminal.

Control characters are escaped in both, so that a caller cannot forge a line (ASVS 16.4.1). Events
have names and ids; never passwords, tokens or query strings.
"""

import logging
import sys
from typing import TypeVar

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from authsite.platform.http.request_info import REQUEST_ID

T = TypeVar("T")
MAX_VALUE = 2000  # characters


def configure_default() -> None:
    """Send structlog's lines to the standard library's logging, unless structlog is configured.

    structlog's default prints the local variables of a traceback, which include passwords.
    """
    if not structlog.is_configured():
        structlog.configure(
            processors=[
                _with_request_id,
                structlog.processors.format_exc_info,
                _escape_values,
                structlog.processors.KeyValueRenderer(key_order=["event"]),
            ],
            logger_factory=structlog.stdlib.LoggerFactory(),
        )


def configure(*, as_json: bool) -> None:
    """Send structlog's and the standard library's lines to stderr, in one format."""
    shared: list[Processor] = [
        _with_request_id,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _escape_values,
    ]
    renderer: Processor = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    if as_json:
        renderer = structlog.processors.JSONRenderer()
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
    logging.raiseExceptions = False  # a request must not fail on a full disk or a closed pipe
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)


def _with_request_id(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    request_id = REQUEST_ID.get()
    if request_id:
        event["request_id"] = request_id
    return event


def _escape_values(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Shorten long values and escape unprintable characters; a traceback keeps its lines."""
    for name, value in event.items():
        if name != "exception":
            event[name] = one_line(value)
    return event


def one_line(value: T) -> T | str:
    """``value``, if a text: shortened, and with unprintable characters as escapes."""
    if not isinstance(value, str) or (value.isprintable() and len(value) <= MAX_VALUE):
        return value
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in value[:MAX_VALUE]
    )
