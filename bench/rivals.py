"""Applications for comparison, on the same server: a bare view, and a minimal guard."""

import os
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

from pyramid.config import Configurator
from sqlalchemy import (
    Column,
    LargeBinary,
    MetaData,
    String,
    Table,
    bindparam,
    create_engine,
    event,
    select,
)

from authsite.platform.passwords import HashPool
from authsite.platform.runtime import clock
from authsite.platform.runtime.slots import THREADS
from authsite.platform.settings import read_ini
from authsite.server import worker
from authsite.server.asgi import AsgiBridge

TOKENS = Table(
    "prototype_tokens",
    MetaData(),
    Column("hash", LargeBinary(32), primary_key=True),
    Column("name", String(100)),
)
NO_QUEUE = f"{THREADS},0,0"  # a hash thread for each thread that answers requests
BY_HASH = select(TOKENS.c.name).where(TOKENS.c.hash == bindparam("hash"))


def engine(url):
    """An AUTOCOMMIT engine, as the guard's path has one."""
    made = create_engine(url, isolation_level="AUTOCOMMIT", pool_size=THREADS, max_overflow=0)
    if made.dialect.name == "sqlite":
        event.listen(made, "connect", lambda c, _record: c.execute("PRAGMA journal_mode=WAL"))
    return made


def bare():
    """A Pyramid view that answers JSON and does nothing else."""
    with Configurator() as config:
        config.add_route("bare", "/")
        config.add_view(lambda request: {"hello": "world"}, route_name="bare", renderer="json")
        return config.make_wsgi_app()


def bridged():
    """The bare view on the ASGI bridge of ``authsite serve``."""
    return AsgiBridge(bare(), THREADS, worker.ACTIVE["postgresql"])


def prototype():
    """Bearer header, hash, one SELECT by primary key, JSON."""
    database = engine(os.environ["BENCH_DATABASE_URL"])

    def view(request):
        token = request.headers.get("Authorization", "")[7:]
        with database.connect() as connection:
            row = connection.execute(BY_HASH, {"hash": sha256(token.encode()).digest()}).first()
        if row is None:
            request.response.status_int = 401
            return {"error": "invalid_token"}
        return {"name": row.name}

    with Configurator() as config:
        config.add_route("guarded", "/")
        config.add_view(view, route_name="guarded", renderer="json")
        return config.make_wsgi_app()


def pooled():
    """authsite with another hash pool: none, or THREADS,QUEUE,NICENESS."""
    wanted = os.environ["BENCH_POOL"]
    given = NO_QUEUE if wanted == "none" else wanted
    threads, queue, niceness = map(int, given.split(","))
    application = worker.wsgi_application()
    passwords = application.registry["authsite"].passwords
    passwords.pool = HashPool(threads, queue, niceness=niceness)
    return application


def skewed():
    """authsite with a wrong clock: the file $BENCH_SKEW says by how many seconds, at any time."""
    file, right = Path(os.environ["BENCH_SKEW"]), clock.now
    clock.now = lambda: right() + timedelta(seconds=float(file.read_text()))
    return worker.application()


def guarded():
    """The bare view behind the api guard, in an application that includes authsite.

    It adds its route first, as docs/guards.md advises for routes with many requests.
    """
    with Configurator(settings=read_ini(os.environ["AUTHSITE_CONFIG"])) as config:
        config.add_route("bare", "/", guard="api")
        config.add_view(lambda request: {"hello": "world"}, route_name="bare", renderer="json")
        config.include("authsite")
        app = config.make_wsgi_app()
    dialect = app.registry["authsite"].database.transactional.dialect.name
    return AsgiBridge(app, THREADS, worker.ACTIVE[dialect])
