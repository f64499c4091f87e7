"""OpenTelemetry traces: setting `tracing`, and the extra `opentelemetry`.

A request is a span, with spans for its statements, its password hash and the mails that are sent.
The names are those of OpenTelemetry's semantic conventions. A span has no identifier of a user, a
client, an address or a token, no path, no query and no header: what it has are names of routes,
statuses, error codes, SQL with placeholders, and the request id that the log has, too.

A trace that a caller has begun goes on here only if a trusted proxy passes it on: other callers
could choose which requests are recorded.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyramid.registry import Registry
from pyramid.response import Response
from sqlalchemy import event

from authsite.platform.context import Services
from authsite.platform.http.errors import ERROR_OF_REQUEST
from authsite.platform.http.headers import METHODS
from authsite.platform.request_state import Request
from authsite.platform.runtime import spans

Handler = Callable[[Request], Response]
SERVICE_NAME = "OTEL_SERVICE_NAME"


def start(services: Services) -> None:
    """Record spans of statements, password hashes and mails with the provider of this process."""
    from opentelemetry import trace

    tracer = trace.get_tracer("authsite")

    @contextmanager
    def record(name: str, attributes: spans.Attributes) -> Iterator[None]:
        with tracer.start_as_current_span(
            name,
            attributes=attributes,
            record_exception=False,  # the message of an error may have values of parameters
            set_status_on_exception=False,
        ) as span:
            try:
                yield
            except Exception as error:
                _failed(span, type(error).__name__)
                raise

    spans.record_with(record)
    for engine in (services.database.transactional, services.database.autocommit):
        _record_statements(engine, tracer)


def export() -> None:
    """Send the spans of this process to the collector that the OTEL_… variables name.

    The default is OTLP over HTTP to localhost:4318. If the collector is away, spans are dropped.
    """
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    os.environ.setdefault(SERVICE_NAME, "authsite")
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def tracing_tween(handler: Handler, _registry: Registry) -> Handler:
    """Make the tween that records a span for each request of the stand-alone application."""
    from opentelemetry import propagate, trace

    tracer = trace.get_tracer("authsite")

    def tween(request: Request) -> Response:
        method = request.method if request.method in METHODS else "_OTHER"
        trusted = request.authsite.through_trusted_proxy
        with tracer.start_as_current_span(
            method,
            context=propagate.extract(request.headers) if trusted else None,
            kind=trace.SpanKind.SERVER,
            attributes={
                "http.request.method": method,
                "authsite.request_id": request.authsite.request_id,
            },
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            response = handler(request)
            route = getattr(request, "matched_route", None)
            if route:
                pattern = f"/{route.pattern.lstrip('/')}"
                span.update_name(f"{method} {pattern}")
                span.set_attribute("http.route", pattern)
            span.set_attribute("http.response.status_code", response.status_int)
            error = request.environ.get(ERROR_OF_REQUEST)
            if error is not None and response.status_int >= 400:
                span.set_attribute("error.type", error.code)
            if response.status_int >= 500:
                span.set_status(trace.StatusCode.ERROR)
            return response

    return tween


def _record_statements(engine: Any, tracer: Any) -> None:
    """A span for each statement that SQLAlchemy executes."""

    @event.listens_for(engine, "before_cursor_execute", named=True)
    def begin(**given: Any) -> None:
        sql = given["statement"]
        given["context"].authsite_span = tracer.start_span(
            spans.operation(sql), attributes=spans.query_attributes(engine.dialect.name, sql)
        )

    @event.listens_for(engine, "after_cursor_execute", named=True)
    def end(**given: Any) -> None:
        given["context"].authsite_span.end()

    @event.listens_for(engine, "handle_error")
    def fail(failure: Any) -> None:
        span = getattr(failure.execution_context, "authsite_span", None)
        if span is not None:
            _failed(span, type(failure.original_exception).__name__)
            span.end()


def _failed(span: Any, kind: str) -> None:
    from opentelemetry.trace import StatusCode

    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)
