"""The WSGI application as an ASGI application, for servers with an event loop.

A WSGI server gives a request its thread at once, and the thread waits for the body: as many slow
clients as there are threads stop the service (OWASP API4:2023). Here the event loop reads the body
for at most `BODY_SECONDS` seconds and 64 KiB, and only then a worker thread runs the application.

Requests with a body have separate worker threads, so logins that wait for a password hash
never delay guarded requests. The application writes every response, also to a body that is too
long, too late or incomplete.
"""

import asyncio
import io
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote_to_bytes

from authsite.platform.http.bodies import MAX_BODY
from authsite.platform.http.outbound_slots import AT_ONCE
from authsite.platform.http.tween import BEGAN
from authsite.platform.runtime.slots import WorkQueue

if TYPE_CHECKING:
    from .request_log import RequestLog


# The WSGI environ (PEP 3333) of an ASGI request.


_BASE: dict[str, Any] = {
    "GATEWAY_INTERFACE": "CGI/1.1",
    "SCRIPT_NAME": "",
    "SERVER_SOFTWARE": "Granian",
    "wsgi.errors": sys.stderr,
    "wsgi.input_terminated": True,
    "wsgi.multiprocess": False,
    "wsgi.multithread": True,
    "wsgi.run_once": False,
    "wsgi.version": (1, 0),
}
_PROTOCOLS = {"1": "HTTP/1.0", "1.0": "HTTP/1.0", "2": "HTTP/2.0"}
_NAMES: dict[bytes, str] = {
    b"content-type": "CONTENT_TYPE",
    b"content-length": "CONTENT_LENGTH",
    b"host": "HTTP_HOST",
    b"authorization": "HTTP_AUTHORIZATION",
}


def environ_of(scope: dict[str, Any]) -> dict[str, Any]:
    """The environ of the request ``scope``, still without ``wsgi.input``.

    It does not contain the environment of the process, which holds our secrets. Header values are
    decoded as ISO-8859-1, so no byte is lost. Header names with an underscore are left out: WSGI
    cannot distinguish ``X_Forwarded_For`` from ``X-Forwarded-For``, so a client could override what
    the proxy sent.
    """
    environ = _BASE.copy()
    environ["SERVER_PROTOCOL"] = _PROTOCOLS.get(scope["http_version"], "HTTP/1.1")
    environ["SERVER_NAME"], port = scope["server"]
    environ["SERVER_PORT"] = str(port)
    environ["REMOTE_ADDR"] = scope["client"][0]
    environ["REQUEST_METHOD"] = scope["method"]
    environ["PATH_INFO"] = unquote_to_bytes(scope["raw_path"]).decode("latin-1")
    environ["QUERY_STRING"] = scope["query_string"].decode("latin-1")
    environ["wsgi.url_scheme"] = scope["scheme"]
    for name, value in scope["headers"]:
        if b"_" in name:
            continue
        key = _NAMES.get(name) or "HTTP_" + name.upper().replace(b"-", b"_").decode("latin-1")
        text = value.decode("latin-1")
        if key in environ:  # RFC 9110, section 5.3; for cookies RFC 9113, section 8.2.3
            text = f"{environ[key]}{'; ' if key == 'HTTP_COOKIE' else ','}{text}"
        environ[key] = text
    return environ


# A time limit for something that many tasks of an event loop do.


Result = TypeVar("Result")


class Deadlines:
    """Ends what takes a task more than ``seconds``.

    One timer of the event loop serves all tasks. `asyncio.timeout` starts a timer for each, which
    takes more processor time than to read a small body.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends: dict[asyncio.Task[Any], float] = {}  # the earliest first
        self._timer_runs = False

    async def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of ``work``, which runs in the task of the caller.

        Raises `TimeoutError` after the time.
        """
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a deadline belongs to a task of an event loop")
        self._ends[task] = asyncio.get_running_loop().time() + self._seconds
        if not self._timer_runs:
            self._timer_runs = True
            self._cancel_late()
        try:
            return await work
        except asyncio.CancelledError:
            # The server may have cancelled the task, too; that cancellation must be raised again.
            if task in self._ends or task.uncancel() > 0:
                raise
            raise TimeoutError from None
        finally:
            self._ends.pop(task, None)

    def _cancel_late(self) -> None:
        """Cancel the tasks whose time is over; again when that of the next one is."""
        loop = asyncio.get_running_loop()
        while self._ends:
            task, end = next(iter(self._ends.items()))
            if end > loop.time():
                loop.call_at(end, self._cancel_late)
                return
            del self._ends[task]
            task.cancel()
        self._timer_runs = False


BODY_SECONDS = 10.0  # for a whole body; then 408 (RFC 9110, section 15.5.9)

WsgiApplication = Callable[..., Iterable[bytes]]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Response:
    """The whole response of the application."""

    status: int
    headers: list[tuple[str, str]]
    content: bytes


class WorkerThreads:
    """``count`` threads that run the application, each one request at a time.

    ``active``: how many of them do so at the same time; the others wait, such as for a hash.
    """

    def __init__(self, application: WsgiApplication, count: int, active: int, name: str) -> None:
        self._application = application
        self._queue: WorkQueue[tuple[dict[str, Any], asyncio.Future[Response]]] = WorkQueue(active)
        for number in range(count):
            threading.Thread(
                target=self._queue.work,
                args=(self._handle,),
                name=f"authsite-{name}-{number}",
                daemon=True,
            ).start()

    async def run(self, environ: dict[str, Any]) -> Response:
        """The application's response. Raises what the application raises."""
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._queue.put((environ, future))
        return await future

    def _handle(self, request: tuple[dict[str, Any], asyncio.Future[Response]]) -> None:
        environ, future = request
        set_outcome: Callable[[Any], None] = future.set_result
        outcome: Any
        try:
            outcome = call(self._application, environ)
        except BaseException as error:
            set_outcome, outcome = future.set_exception, error
        future.get_loop().call_soon_threadsafe(_unless_cancelled, future, set_outcome, outcome)


def _unless_cancelled(
    future: asyncio.Future[Response], set_outcome: Callable[[Any], None], outcome: Any
) -> None:
    """Give ``future`` its outcome, unless the client has disconnected."""
    if not future.done():
        set_outcome(outcome)


class AsgiBridge:
    """The ASGI application (HTTP only, no lifespan) around the WSGI application.

    ``threads`` work on requests with a body. ``active``: how many requests of each kind, with a
    body and without, are worked on at the same time. The threads for requests without a body are
    more, by as many as may wait for other servers at a time: a provider that is down delays no
    other request. ``log`` gets a line for each request.
    ``immediate``: paths that the application answers at once, without waiting for anything; the
    event loop itself runs it for them, so that they are answered while all threads are busy.
    """

    def __init__(
        self,
        application: WsgiApplication,
        threads: int,
        active: int,
        log: "RequestLog | None" = None,
        immediate: frozenset[str] = frozenset(),
    ) -> None:
        self._application, self._immediate, self._log = application, immediate, log
        self._bodiless = WorkerThreads(application, active + AT_ONCE, active, "request")
        self._with_body = WorkerThreads(application, threads, active, "body")
        self._deadlines = Deadlines(BODY_SECONDS)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Respond to one request (ASGI 3.0, HTTP specification 2.x)."""
        if scope["type"] != "http":
            raise ValueError(f"authsite serves HTTP requests only, not {scope['type']}")
        began = time.perf_counter()
        environ = environ_of(scope)
        length = _body_length(environ)
        if length == 0 and environ["PATH_INFO"] in self._immediate:
            environ["wsgi.input"], close = io.BytesIO(), False
            response = call(self._application, environ)
        elif length is not None and (length == 0 or length > MAX_BODY):
            # The application rejects a body that is too long by its length, unread.
            environ["wsgi.input"], close = io.BytesIO(), length > 0
            environ[BEGAN] = began
            response = await self._bodiless.run(environ)
        else:
            environ["wsgi.input"], close = await self._read_body(receive)
            environ[BEGAN] = time.perf_counter()  # a slow client is not a slow request
            # WebOb's own name: without it WebOb wraps or copies what is in memory already.
            environ["webob.is_body_seekable"] = isinstance(environ["wsgi.input"], io.BytesIO)
            response = await self._with_body.run(environ)
        headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in response.headers
        ]
        if close:  # the rest of the body is not wanted (RFC 9112, section 9.6)
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": response.content})
        if self._log:
            self._log.note(environ, response.status, response.headers, began)

    async def _read_body(self, receive: Receive) -> tuple[Any, bool]:
        """`read_body`, for at most `BODY_SECONDS`; then its input raises `TimeoutError`."""
        try:
            return await self._deadlines.run(read_body(receive))
        except TimeoutError:
            return UnreadBody(TimeoutError), True


class UnreadBody:
    """The ``wsgi.input`` of an incomplete body; ``error`` is raised when it is read.

    It keeps the class and no exception. An exception refers to the frames that it has passed, and
    these refer to ``receive``, as long as which exists Granian keeps the connection open: until the
    next garbage collection, since the frames and the exception refer to each other.
    """

    def __init__(self, error: type[OSError]) -> None:
        self._error = error

    def read(self, _size: int = -1) -> bytes:
        """Raise the reason."""
        raise self._error("The body is incomplete.")


async def read_body(receive: Receive) -> tuple[Any, bool]:
    """The body as a ``wsgi.input``, and whether the connection must be closed after the response.

    Reading stops after 64 KiB. The input of a body that is broken off raises `OSError` when the
    application reads it: half a form must never be taken for a whole one.
    """
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return UnreadBody(OSError), True
        part = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if size > MAX_BODY:
            return io.BytesIO(b"".join(parts)), True
        if not message.get("more_body"):
            return io.BytesIO(b"".join(parts)), False


def _body_length(environ: dict[str, Any]) -> int | None:
    """The length of the body in bytes: 0 for none, None if it is not stated in advance."""
    if "HTTP_TRANSFER_ENCODING" in environ:
        return None
    try:
        return int(environ.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return None


def call(application: WsgiApplication, environ: dict[str, Any]) -> Response:
    """The whole response of a WSGI application (PEP 3333)."""
    started: list[Any] = []

    def start_response(
        status: str, headers: list[tuple[str, str]], _exc_info: object = None
    ) -> None:
        started[:] = int(status[:3]), headers

    result = application(environ, start_response)
    try:
        content = b"".join(result)
    finally:
        close = getattr(result, "close", None)
        if close is not None:
            close()
    return Response(started[0], started[1], content)
