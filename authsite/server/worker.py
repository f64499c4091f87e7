"""One worker process of ``authsite serve``."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from authsite.monitoring import HEALTH_PATH
from authsite.platform.mail.copies import FOLDER_VARIABLE
from authsite.platform.runtime.slots import THREADS
from authsite.platform.settings import Settings, SettingsError, read_ini

from .asgi import AsgiBridge
from .failure import end_service
from .garbage import no_collections
from .request_log import RequestLog, as_object, as_text, words_of
from .signals import end_with_parent, hold_until_loop_runs

if TYPE_CHECKING:
    from pyramid.router import Router

    from authsite.platform.context import Services

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

    folder = os.environ.get(FOLDER_VARIABLE)
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
    renewed after the fork (`authsite.platform.runtime.forks`).
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
