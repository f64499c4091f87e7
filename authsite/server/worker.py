"""One worker process of ``authsite serve``."""

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from authsite.cli.shared import settings_of
from authsite.mail.copies import FOLDER_VARIABLE
from authsite.monitoring import HEALTH_PATH
from authsite.settings import Settings

from .asgi import AsgiBridge
from .garbage import no_collections
from .request_log import RequestLog, as_object, as_text, words_of
from .signals import end_with_parent

if TYPE_CHECKING:
    from authsite.context import Services

# Per worker: requests with a body that are under way, most of which wait for a password hash.
THREADS = 16
# Requests of each kind, with a body and without, that a worker works on at the same time. More of
# them contend for the GIL: with 16 instead of 6, a refresh takes a third more processor time.
# A query of SQLite does not wait for a server, so three use less processor time than six.
ACTIVE = {"sqlite": 3, "postgresql": 6}


def application() -> AsgiBridge:
    """The ASGI application of a worker, from the ini file that $AUTHSITE_CONFIG names."""
    end_with_parent()
    with no_collections():
        wsgi = wsgi_application()
    services: Services = wsgi.registry["authsite"]
    active = ACTIVE[services.database.transactional.dialect.name]
    mounts = {"", *(unquote(each.mount) for each in wsgi.registry["authsite.http"].addresses)}
    health = frozenset(f"{mount}{HEALTH_PATH}" for mount in mounts)
    return AsgiBridge(wsgi, THREADS, active, _log(wsgi, services.settings), health)


def _log(wsgi: Any, cfg: Settings) -> RequestLog | None:
    if not cfg.log_requests:
        return None
    routes = wsgi.routes_mapper.get_routes(include_static=True)
    words = words_of((route.pattern for route in routes), cfg.clients)
    return RequestLog(as_object if cfg.production else as_text, sys.stderr.write, words)


def wsgi_application() -> Any:
    """The WSGI application of a worker, with its background tasks."""
    from authsite import compose
    from authsite.logs import configure
    from authsite.settings import read_ini
    from authsite.tasks.background import make_jobs, start_jobs

    path = Path(os.environ["AUTHSITE_CONFIG"])
    configure(as_json=settings_of(str(path)).production)
    logging.getLogger("authsite.settings").setLevel(logging.ERROR)  # `serve` has said it once
    folder = os.environ.get(FOLDER_VARIABLE)
    app = compose(read_ini(path), mail_copies=Path(folder) if folder else None).make_wsgi_app()
    services: Services = app.registry["authsite"]
    make_jobs(services, serve=True)
    if services.settings.tracing:
        from authsite.monitoring import tracing

        tracing.export()
    start_jobs(services)
    return app
