"""What the ASGI application keeps of a request whose body is late: nothing, after its answer.

Granian closes the connection when the callables that it has passed are gone.
"""

import asyncio
import gc
import weakref

import pytest

from authsite.server import asgi

SCOPE = {
    "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": "/",
    "raw_path": b"/", "query_string": b"", "root_path": "", "server": ("127.0.0.1", 80),
    "client": ("127.0.0.1", 5000), "headers": [(b"content-length", b"9")],
}  # fmt: skip


class Silent:
    """The ``receive`` of a client that sends nothing."""

    async def __call__(self):
        await asyncio.Event().wait()


def application(environ, start_response):
    try:
        environ["wsgi.input"].read()
    except TimeoutError:
        start_response("408 Request Timeout", [])
    return [b""]


@pytest.mark.control("S13")
def test_the_callables_of_a_late_request_are_gone_without_a_garbage_collection(monkeypatch):
    monkeypatch.setattr(asgi, "BODY_SECONDS", 0.05)
    bridge, sent = asgi.AsgiBridge(application, 1, 1), []

    async def send(message):
        sent.append(message)

    async def answer():
        receive = Silent()
        gone = weakref.ref(receive)
        task = asyncio.ensure_future(bridge(SCOPE, receive, send))
        del receive
        await asyncio.wait_for(task, 20)
        return gone() is None

    gc.disable()
    try:
        assert asyncio.run(answer())
    finally:
        gc.enable()
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]
