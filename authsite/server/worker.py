"""One worker process of ``authsite serve``."""

import asyncio
import ctypes
import gc
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import unquote

from authsite.monitoring import HEALTH_PATH
from authsite.monitoring.workers import FOLDER_VARIABLE
from authsite.platform.mail.pages import FOLDER_VARIABLE as pages_FOLDER_VARIABLE
from authsite.platform.runtime.slots import THREADS
from authsite.platform.settings import Settings, SettingsError, read_ini

from .asgi import AsgiBridge
from .request_log import RequestLog, as_object, as_text, words_of

if TYPE_CHECKING:
    from pyramid.router import Router

    from authsite.platform.context import Services


# A worker that cannot start ends the service, which says why; others would fail in the same way.
#
# The folder of the metrics is the one place that all processes of a service know.


_FILE = "failure"
_WAIT = 30  # seconds in which the parent ends this process


def end_service(message: str) -> NoReturn:
    """Tell the parent why this worker cannot start, and to stop."""
    if folder := os.environ.get(FOLDER_VARIABLE):
        with suppress(FileExistsError), open(Path(folder, _FILE), "x", encoding="utf-8") as file:
            file.write(message)
        os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(_WAIT)  # a worker that ends by itself is replaced
    raise SystemExit(message)


def failure_in(folder: str) -> str | None:
    """What the first worker that could not start has said; None without one."""
    try:
        return Path(folder, _FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


# The garbage collector while a process starts.


@contextmanager
def no_collections() -> Iterator[None]:
    """Import and set up without garbage collections; none looks at the result later, either.

    Modules, routes and settings live as long as the process, so collections that search them only
    take time. Workers that are forked later share their memory (documentation of `gc.freeze`).
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


# Signals: to workers that start, and to a process whose parent is gone.


STOP = (signal.SIGTERM, signal.SIGINT)


def end_workers_that_start() -> None:
    """Let SIGTERM end each worker that is forked from now on, until it runs.

    A forked process has the handlers of its parent, with which it would ignore SIGTERM until
    Granian has set the handlers of the worker. Ctrl-C reaches the parent as well, which then ends
    its workers; to a worker that had ended before, it would start another one.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_block, after_in_parent=_unblock, after_in_child=_end_at_once)


def _block() -> None:
    # Python forgets a signal that a forked process gets before `_end_at_once`.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP)


def _unblock() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP)


def _end_at_once() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _unblock()


def hold_until_loop_runs() -> None:
    """Let SIGTERM and SIGINT wait until the event loop of this worker runs.

    Granian sets its handlers a moment before, and uvloop forgets a signal that arrives in between:
    the worker would run on until it is killed. Threads that are started from now on leave these
    signals to the main thread.
    """
    _block()
    asyncio.get_event_loop().call_soon(_unblock)


def end_with_parent() -> None:
    """Stop this process when the one that started it is gone, however that ended (Linux)."""
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG, prctl(2)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)


# Requests of each kind, with a body and without, that a worker works on at the same time. More of
# them contend for the GIL: with 16 instead of 6, a refresh takes a third more processor time.
# A query of SQLite does not wait for a server, so three use less processor time than six.
ACTIVE = {"sqlite": 3, "postgresql": 6}


def application() -> AsgiBridge:
    """The ASGI application of a worker, from the ini file that $AUTHSITE_CONFIG names.

    If it cannot be made, the whole service ends.
    """
    end_with_parent()
    try:
        with no_collections():
            bridge = _application(Path(os.environ["AUTHSITE_CONFIG"]))
    except Exception as error:
        end_service(failure_of(error))
    return bridge


def failure_of(error: Exception) -> str:
    """Why an application cannot be made, for its operator. An unexpected error is logged, too."""
    from pyramid.exceptions import ConfigurationError

    if isinstance(error, SettingsError | ConfigurationError):
        return str(error)
    logging.getLogger(__name__).error("the application cannot be made", exc_info=error)
    return f"the application cannot be made: {type(error).__name__}: {error}"


def _application(path: Path) -> AsgiBridge:
    from authsite.platform.logs import configure

    wsgi = prepared(path)
    services: Services = wsgi.registry["authsite"]
    configure(as_json=services.settings.production)
    active = ACTIVE[services.database.transactional.dialect.name]
    mounts = {"", *(unquote(each.mount) for each in wsgi.registry["authsite.http"].addresses)}
    health = frozenset(f"{mount}{HEALTH_PATH}" for mount in mounts)
    hold_until_loop_runs()  # before the first thread
    bridge = AsgiBridge(wsgi, THREADS, active, _log(wsgi, services.settings), health)
    _start_threads(services)
    return bridge


def _log(wsgi: Any, cfg: Settings) -> RequestLog | None:
    if not cfg.log_requests:
        return None
    routes = wsgi.routes_mapper.get_routes(include_static=True)
    words = words_of((route.pattern for route in routes), cfg.clients)
    return RequestLog(as_object if cfg.production else as_text, sys.stderr.write, words)


def created(path: Path) -> "Router":
    """The WSGI application of a worker with the ini at ``path``; its tasks do not run yet.

    Raises what prevents its start: `SettingsError`, `ConfigurationError`, an error of an import.
    """
    from authsite import compose
    from authsite.platform.tasks.background import make_jobs

    folder = os.environ.get(pages_FOLDER_VARIABLE)
    with _silent(logging.getLogger("authsite.settings")):  # `serve` and `doctor` say it themselves
        app = compose(read_ini(path), mail_copies=Path(folder) if folder else None).make_wsgi_app()
    make_jobs(app.registry["authsite"], serve=True)
    return app


@cache
def prepared(path: Path) -> "Router":
    """What `created` returns, made once.

    ``authsite serve`` calls this before it forks its workers. They start sooner then, share the
    memory, and have the same settings; so has one that replaces a worker that was killed. After a
    reload each worker makes the application itself. What has to be separate in each process is
    renewed after the fork (`authsite.platform.runtime.processes`).
    """
    return created(path)


@contextmanager
def _silent(logger: logging.Logger) -> Iterator[None]:
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _start_threads(services: "Services") -> None:
    from authsite.platform.tasks.background import start_jobs

    if services.settings.tracing:
        from authsite.monitoring import tracing

        tracing.export()
    start_jobs(services)


def wsgi_application() -> "Router":
    """The WSGI application of a worker, for another server: measurements compare them."""
    from authsite.platform.logs import configure

    app = created(Path(os.environ["AUTHSITE_CONFIG"]))
    services: Services = app.registry["authsite"]
    configure(as_json=services.settings.production)
    _start_threads(services)
    return app


# Tell systemd when the service answers (``Type=notify``; sd_notify(3)).


PAUSE = 0.1  # seconds before each attempt to connect


def tell_systemd(host: str, port: int) -> None:
    """Send ``READY=1`` to $NOTIFY_SOCKET, in a thread, once the port accepts connections.

    Without this variable, which systemd sets, nothing happens.
    """
    address = os.environ.pop("NOTIFY_SOCKET", "")
    if address:
        Thread(target=_wait_and_tell, args=(address, host, port), daemon=True).start()


def _wait_and_tell(address: str, host: str, port: int) -> None:
    connected = False
    while not connected:
        # Before the first attempt, too: the workers are forked while this thread sleeps.
        time.sleep(PAUSE)
        with suppress(OSError), socket.create_connection((host, port), timeout=1):
            connected = True
    if address.startswith("@"):  # a socket that has no file
        address = f"\0{address[1:]}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.sendto(b"READY=1", address)


# The port of the service, which no second ``authsite serve`` can use.
#
# Each worker listens on a separate socket with SO_REUSEPORT (Granian, on Linux). So the kernel
# would let another service of the same user listen beside them, and would deal the connections
# out. A first look at the port does not prevent that: two services that start at the same moment
# both find it free.


def claim(host: str, port: int) -> socket.socket:
    """Claim the port for this process and those that it forks, until they end or close the socket.

    The kernel decides which of several processes gets it, for all hosts that overlap (``0.0.0.0``
    and ``::`` are all), whatever their users. Nothing is left behind when the processes are killed.
    Connections that still close (TIME_WAIT) are not in the way. Raises `OSError` if another process
    uses the port, or if the address is not one of this machine.
    """
    family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    claimed = socket.socket(family, kind)
    try:
        claimed.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        claimed.bind(address)
        claimed.listen(1)  # of several sockets without SO_REUSEPORT only one can listen
        if sys.platform == "linux":
            # From now on it is bound and does not listen. Without SO_REUSEADDR it keeps all away
            # that have no SO_REUSEPORT, which `claim` of another process has not either.
            claimed.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
            claimed.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            claimed.shutdown(socket.SHUT_RDWR)
        else:
            claimed.close()  # the server listens once, in this process
    except OSError:
        claimed.close()
        raise
    return claimed
