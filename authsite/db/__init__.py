"""The database: engines, the request's session, and writes that outlive an error answer."""

from .engine import Database, open_database
from .transaction import keep_writes, reading, session

__all__ = ["Database", "keep_writes", "open_database", "reading", "session"]


def includeme(config):
    """``request.db`` (writes, in the request's transaction), ``.reading`` and ``.database``."""
    config.include("pyramid_tm")
    database = open_database(config.registry["authsite.settings"].database_url)
    config.registry["authsite.database"] = database
    config.add_request_method(session, "db", reify=True)
    config.add_request_method(reading, "reading", reify=True)
    config.add_request_method(lambda _request: database, "database", property=True)
