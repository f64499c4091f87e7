"""Setting `tracing`: the spans of a request, and what is not in them."""

import http.server
import threading

import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from authsite.platform.runtime import spans
from authsite.platform.settings import unsafe_choices
from authsite.platform.settings.errors import SettingsError
from tests.support import databases
from tests.support.servers import serving, write_ini
from tests.support.site import PASSWORD, WEB, Site, bearer
from tests.support.statements import fail_all

pytestmark = pytest.mark.both_databases

PARENT = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
TRACE = 0x0AF7651916CD43DD8448EB211C80319C


@pytest.fixture(scope="session")
def exporter():
    """The exporter of this process, whose provider can be set once."""
    found = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(found))
    trace.set_tracer_provider(provider)
    return found


@pytest.fixture
def traced(exporter, fresh_url):
    """A site with `tracing`."""
    site = Site(databases.migrated(fresh_url), tracing="on", **WEB)
    exporter.clear()
    yield site
    spans.record_with(None)
    site.database.dispose()


def test_a_request_is_a_span_with_its_statements_and_its_hash(traced, exporter):
    client = traced.first_party("web")
    traced.user()
    exporter.clear()
    token = traced.login(client)["access_token"]
    found = exporter.get_finished_spans()
    [request] = [span for span in found if span.kind is trace.SpanKind.SERVER]
    assert request.name == "POST /v1/oauth/token"
    assert request.attributes["http.route"] == "/v1/oauth/token"
    assert request.attributes["http.response.status_code"] == 200
    parts = [
        span for span in found if span.parent and span.parent.span_id == request.context.span_id
    ]
    names = {span.name for span in parts}
    assert "password hash" in names
    assert names & {"SELECT", "INSERT", "WITH"}
    [system] = {
        span.attributes["db.system.name"] for span in parts if "db.query.text" in span.attributes
    }
    assert system == traced.database.transactional.dialect.name
    everything = "".join(span.to_json() for span in found)
    for secret in (
        token,
        PASSWORD,
        "ann@example.com",
        client.client_id,
        client.client_secret,
        "127.0.0.1",
    ):
        assert secret not in everything

    exporter.clear()
    answer = traced.http.get("/v1/user", headers=bearer(token))
    [query, guarded] = exporter.get_finished_spans()
    assert guarded.attributes["authsite.request_id"] == answer.headers["X-Request-Id"]
    assert query.parent.span_id == guarded.context.span_id


def test_denied_and_failed_requests_name_the_error(traced, exporter, monkeypatch):
    traced.http.get("/v1/user", status=401)
    assert exporter.get_finished_spans()[-1].attributes["error.type"] == "unauthenticated"
    client = traced.first_party("web")
    fail_all(monkeypatch, traced.database)
    traced.login(client, status=503)
    failed = [span for span in exporter.get_finished_spans() if not span.status.is_unset]
    assert "OperationalError" in {span.attributes["error.type"] for span in failed}
    traced.http.get("/x/secret-in-a-path", status=404)
    found = exporter.get_finished_spans()
    assert (found[-1].name, "http.route" in found[-1].attributes) == ("GET", False)
    assert "secret-in-a-path" not in "".join(span.to_json() for span in found)


@pytest.mark.parametrize("proxies", ["", "127.0.0.1"])
def test_only_a_trusted_proxy_passes_on_a_trace(exporter, fresh_url, proxies):
    site = Site(databases.migrated(fresh_url), tracing="on", trusted_proxies=proxies, **WEB)
    exporter.clear()
    site.http.get("/login", headers=PARENT, extra_environ={"REMOTE_ADDR": "127.0.0.1"})
    ids = {span.context.trace_id for span in exporter.get_finished_spans()}
    assert (ids == {TRACE}) == bool(proxies)
    spans.record_with(None)
    site.database.dispose()


def test_without_the_package_no_application_starts(monkeypatch):
    """As on a machine where it is not installed."""
    monkeypatch.setattr(unsafe_choices, "find_spec", lambda _name: None)
    with pytest.raises(SettingsError, match=r"authsite.tracing.*authsite\[opentelemetry\]"):
        Site("sqlite://", tracing="on")


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_the_server_sends_its_spans_to_the_collector(fresh_url, tmp_path):
    """As OTLP over HTTP to OTEL_EXPORTER_OTLP_ENDPOINT, with the default service name."""
    sent, came = {}, threading.Event()

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        sent[span.name] = (self.path, resource.resource.attributes)
            if "GET /v1/user" in sent:  # the requests that wait for the server may be sent before
                came.set()

        def log_message(self, *_arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = databases.migrated(fresh_url)
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    try:
        with serving(write_ini(tmp_path, url, tracing="on", **WEB), **variables) as client:
            client.get("/v1/user")
            assert came.wait(20)
    finally:
        server.shutdown()
        server.server_close()
    path, attributes = sent["GET /v1/user"]
    names = {pair.key: pair.value.string_value for pair in attributes}
    assert (path, names["service.name"]) == ("/v1/traces", "authsite")
