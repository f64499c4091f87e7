"""``authsite doctor --production`` fetches the login page, and says what arrived."""

import threading
from contextlib import contextmanager
from urllib.parse import urlsplit
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

from authsite.checks.arrival import arrival_findings
from authsite.platform.http import arrival
from authsite.platform.runtime import clock
from tests.support.servers import free_port


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def running(site, change=lambda environ: environ):
    """The application of ``site`` on the port of its first base URL, behind a "proxy"."""
    port = urlsplit(site.cfg.base_url[0]).port
    app = site.app
    server = make_server(
        "127.0.0.1", port, lambda environ, start: app(change(environ), start), handler_class=Quiet
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def own(site_with):
    url = f"http://127.0.0.1:{free_port()}"
    site = site_with(base_url=url)
    site.own = url
    return site


def findings(site):
    return [(each.state, each.message) for each in arrival_findings(site.app.registry["authsite"])]


def test_what_arrives_as_it_was_sent_is_right(own):
    with running(own):
        [(state, message)] = findings(own)
    assert state == "ok"
    assert "arrived with the scheme http and the Host 127.0.0.1" in message


def test_a_proxy_that_forwards_no_host_is_named(own):
    with running(own, lambda environ: environ | {"HTTP_HOST": "backend:6543"}):
        [(state, message)] = findings(own)
    assert state == "note"
    assert "the scheme http and the Host backend:6543; authsite uses base-url" in message


def test_with_several_addresses_it_is_to_be_changed(site_with):
    first, second = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    site = site_with(base_url=f"{first} {second}")
    with running(site, lambda environ: environ | {"HTTP_HOST": "backend:6543"}):
        (state, message), (unreachable, other) = findings(site)
    assert (state, unreachable) == ("change", "change")
    assert f"takes the request for one at {first}" in message
    assert f"{second}/login cannot be fetched" in other


def test_another_service_is_named(own):
    def elsewhere(environ):
        return environ | {"PATH_INFO": "/healthz"}

    with running(own, elsewhere):
        [(state, message)] = findings(own)
    assert state == "change"
    assert "and not as this authsite" in message


@pytest.mark.parametrize("asked", ["", "x", "9999999999.00", "9999999999", ".", "x.y"])
def test_nothing_is_told_to_others(own, asked):
    answer = own.http.get("/login", headers={arrival.QUESTION: asked}, status=200)
    assert arrival.ANSWER not in answer.headers


def test_a_question_is_answered_for_a_minute(own, frozen):
    keys = own.app.registry["authsite"].keys
    headers = arrival.question(keys, clock.now())
    assert arrival.ANSWER in own.http.get("/login", headers=headers).headers
    frozen.advance(60)
    assert arrival.ANSWER not in own.http.get("/login", headers=headers).headers
