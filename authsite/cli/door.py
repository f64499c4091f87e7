"""The door of a worker process: a body is read whole before it takes one of the threads.

Granian's own WSGI interface gives a request its thread at once, and the thread waits for the
body: as many slow clients as there are threads, and nobody else is served (OWASP API4, slow-body
attack). Here the event loop waits, which costs no thread.

A request without a body, and one whose stated length is refused unread, goes straight to one of
Granian's threads. Every other body is collected for at most `BODY_SECONDS` and 64 KiB,
and its request then runs on threads of its own, so that logins never stand in the way of guards.
The application is the same WSGI application either way, and words every refusal.

This builds on parts of Granian that it does not promise to keep, which is why setup.py names the
one minor version; tests/servers/test_door.py holds what it relies on.
"""

import asyncio
import ctypes
import io
import os
import signal
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from granian._granian import CallbackScheduler, RSGIWorker
from granian._signals import set_loop_signals
from granian.rsgi import ProtocolClosed
from granian.server.mp import WorkerProcess

from .environ import base_environ, environ_of

BODY_SECONDS = 10.0  # for a whole body; RFC 9110, section 15.5.9


class _Scheduler(CallbackScheduler):
    """Has Granian call ``enter``, on one of its threads, with each request.

    Made with the loop, ``enter``, and three things only Granian's own schedulers need.
    """

    def __init__(self, _loop: Any, enter: Callable[[Any], None], *_unused: None) -> None:
        super().__init__()
        self._schedule_fn = enter


class _Unread:
    """The ``wsgi.input`` of a body that never came to its end."""

    def __init__(self, error: OSError) -> None:
        self._error = error

    def read(self, _size: int = -1) -> bytes:
        raise self._error


@WorkerProcess.wrap_target  # type: ignore[untyped-decorator]
def work(
    worker_id: int, application: Any, socket: Any, ipc: Any, loop: Any, _runtime_mode: Any,
    runtime_threads: int, runtime_blocking_threads: int, threads: int, idle_timeout: int,
    backpressure: int, _task: Any, http_mode: Any, http1: Any, http2: Any, websockets: bool,
    static_path: Any, _log_format: Any, tls: Any, _scope: Any, metrics: Any,
) -> None:  # fmt: skip
    """One worker process, until it is told to stop: Granian's own with our scheduler."""
    end_with_parent()
    stop, stopped = set_loop_signals(loop), asyncio.Event()
    stop.add_cb(lambda: loop.call_soon_threadsafe(stopped.set))
    granian: Any = RSGIWorker  # its stub is behind its code
    worker = granian(
        worker_id, socket, ipc, runtime_threads, runtime_blocking_threads, threads, idle_timeout,
        backpressure, http_mode, http1, http2, websockets, static_path, *tls, metrics,
    )  # fmt: skip
    enter = door(application, loop, threads)
    worker.serve_str(_Scheduler(loop, enter, None, None, None), loop, stop)
    loop.run_until_complete(stopped.wait())


def door(application: Any, loop: Any, threads: int) -> Callable[[Any], None]:
    """The function that answers one request of ``application``; see the module."""
    from authsite.http.bodies import MAX_BODY  # late: the first process serves nobody

    base = base_environ()
    with_body: SimpleQueue[tuple[Any, Any, bool]] = SimpleQueue()
    under_way: set[asyncio.Task[None]] = set()  # the loop itself keeps no task alive

    def answer(watcher: Any, body: Any, last: bool = False) -> None:
        try:
            status, headers, content = _call(application, environ_of(base, watcher.scope, body))
            if last:  # RFC 9112, section 9.6: the rest of the body is not wanted
                headers = [*headers, ("Connection", "close")]
            watcher.proto.response_bytes(status, headers, content)
        except BaseException as error:
            watcher.err(error)  # logs it, and answers 500 if nothing was answered
        else:
            watcher.done()
        # An error keeps its frames, and this one, until they are collected as garbage; Granian
        # closes a connection of which a body is unread no sooner than its protocol is gone.
        del watcher

    def work_off() -> None:
        while True:
            answer(*with_body.get())

    for number in range(threads):
        threading.Thread(target=work_off, name=f"authsite-body-{number}", daemon=True).start()

    async def collect(watcher: Any) -> None:
        try:
            length = _length(watcher.scope.headers)
            with_body.put((watcher, *await _collected(watcher.proto, length, MAX_BODY)))
        except BaseException as error:
            watcher.err(error)

    def begin(watcher: Any) -> None:
        task = loop.create_task(collect(watcher))
        under_way.add(task)
        task.add_done_callback(under_way.discard)

    def enter(watcher: Any) -> None:
        try:
            length = _length(watcher.scope.headers)
            if length == 0:
                answer(watcher, io.BytesIO())
            elif length is None or length <= MAX_BODY:
                loop.call_soon_threadsafe(begin, watcher)
            else:
                answer(watcher, io.BytesIO(), last=True)  # refused by its length
        except BaseException as error:  # let through, it would block Granian's thread for good
            watcher.err(error)

    return enter


def _length(headers: Any) -> int | None:
    """The length of the body in bytes: 0 for none, None if only its end will tell."""
    if "transfer-encoding" in headers:
        return None
    return int(headers.get("content-length") or 0)


async def _collected(proto: Any, length: int | None, limit: int) -> tuple[Any, bool]:
    """The body as a ``wsgi.input``, and whether the connection has to end because more may come.

    What is too long is cut somewhere after ``limit``; what is late or broken off raises when it
    is read. Nothing may still wait for a part when the answer is given: Granian would keep the
    connection until the client says more.
    """
    try:
        async with asyncio.timeout(BODY_SECONDS):
            if length is None:
                return await _chunked(proto, limit)
            return io.BytesIO(await proto()), False  # in one go: each part costs a turn
    except TimeoutError:
        return _Unread(TimeoutError()), True
    except ProtocolClosed:
        return _Unread(OSError("The body broke off.")), True


async def _chunked(proto: Any, limit: int) -> tuple[Any, bool]:
    read, size, empty = [], 0, 0
    async for part in proto:
        read.append(part)
        size += len(part)
        empty += not part
        if size > limit:
            return io.BytesIO(b"".join(read)), True
    # Granian ends a body with one empty part, and with a second one if the client broke it off
    # (or, rarely, sent trailers). Half a form must never be taken for the whole.
    if empty > 1:
        return _Unread(OSError("The body broke off.")), True
    return io.BytesIO(b"".join(read)), False


def _call(application: Any, environ: dict[str, Any]) -> tuple[int, list[tuple[str, str]], bytes]:
    """The status, headers and content that the WSGI application answers."""
    said: list[Any] = []

    def start_response(status: str, headers: list[tuple[str, str]], _exc_info: Any = None) -> None:
        said[:] = int(status[:3]), headers

    result = application(environ, start_response)
    try:
        content = b"".join(result)
    finally:
        if hasattr(result, "close"):
            result.close()
    return said[0], said[1], content


def end_with_parent() -> None:
    """Stop this process when the one that started it is gone, however that ended (Linux)."""
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG, prctl(2)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)
