"""The database: engines, prepared queries, migrations, and the session of a request.

A use case reads and writes with `Context.db`, a SQLAlchemy session in the request's transaction.
A `PreparedQuery` is for what every request reads, and for what is committed by itself. Threads and
commands use the engines of `Database`. See "Two ways to the database" in docs/architecture.md.
"""

from pyramid.config import Configurator

from .engine import Database, open_database
from .prepared import NoRow, PreparedQuery, run_together
from .transaction import after_commit, commit_and_begin, commit_session, request_session

__all__ = [
    "Database",
    "NoRow",
    "PreparedQuery",
    "after_commit",
    "commit_and_begin",
    "commit_session",
    "open_database",
    "request_session",
    "run_together",
]


def includeme(config: Configurator) -> None:
    """Include pyramid_tm, which begins and ends the transactions of requests."""
    config.include("pyramid_tm")
