"""Lists that go on with a cursor: nothing is skipped or repeated while rows are added.

A cursor has the values of the last row by which the list is ordered. It is sealed, since these are
names and addresses, and bound to the list with its filters and to the caller.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from pydantic import Field, ValidationError
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from authsite.platform.context import Context
from authsite.platform.crypto.sealing import Binding, Unusable
from authsite.platform.http.address import route_path
from authsite.platform.http.api_metadata import Parameters, ResponseHeader
from authsite.platform.http.errors import FieldError, MalformedRequest, ValidationFailed
from authsite.platform.i18n import _
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock

from .errors import InvalidCursor, SearchTooWide
from .guard import Administrator

LIFETIME = timedelta(hours=24)
DEFAULT_LIMIT, MAX_LIMIT = 50, 200  # rows
MAX_LENGTH = 8192  # characters of a cursor; a name has up to 1024, each of up to 4 bytes
Row = TypeVar("Row")
Key = Sequence[str | int | None]
"""The values of a row by which a list is ordered; times as RFC 3339 text."""


class Page(NamedTuple, Generic[Row]):
    """A part of a list, and the cursor of the next one; None at the end."""

    rows: Sequence[Row]
    next: str | None


def cursor(ctx: Context, by: Administrator, filters: Mapping[str, object], last: Key) -> str:
    """The cursor behind the row with the key ``last``. ``filters`` names the list, too."""
    expires = int((clock.now() + LIFETIME).timestamp())
    text = json.dumps([list(last), expires], ensure_ascii=False, separators=(",", ":")).encode()
    return ctx.services.sealing.seal(text, _binding(by, filters)).rstrip("=")


def after(
    ctx: Context, by: Administrator, filters: Mapping[str, object], text: str | None
) -> list[str | int | None] | None:
    """The key of the row that the cursor ``text`` is behind; None without a cursor.

    Raises `InvalidCursor`.
    """
    if not text:
        return None
    if len(text) > MAX_LENGTH:
        raise InvalidCursor
    try:
        padding = "=" * (-len(text.rpartition(".")[2]) % 4)
        value = ctx.services.sealing.open(text + padding, _binding(by, filters))
    except Unusable:
        raise InvalidCursor from None
    last, expires = json.loads(value)
    if expires <= clock.now().timestamp():
        raise InvalidCursor
    found: list[str | int | None] = last
    return found


def _binding(by: Administrator, filters: Mapping[str, object]) -> Binding:
    given = {name: str(value) for name, value in filters.items() if value not in (None, "")}
    return Binding("admin cursor", json.dumps([by.kind, str(by.id), given], sort_keys=True))


# The query of a list and its answer: ``limit`` and ``cursor``, ``data``, ``next`` and Link.


_NOT_A_LIMIT = _("Give a number from 1 to 200.")
_NOT_A_VALUE = _("This filter does not know the value. Give another, or leave it out.")
Query = TypeVar("Query", bound=Parameters)
LINK = {
    "Link": ResponseHeader(
        "The URL of the next part (RFC 8288).",
        '</v1/admin/events?cursor=b3RoZXI>; rel="next"',
        always=False,
    )
}


class ListQuery(Parameters):
    """Query of a list."""

    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT
    """The largest number of rows."""
    cursor: Annotated[str | None, Field(examples=["b3RoZXI"])] = None
    """`next` of the part before. The filters must be the same."""


def query_of(request: Request, model: type[Query]) -> Query:
    """The query string as an instance of ``model``; an empty parameter is absent.

    Raises `MalformedRequest` for a parameter that occurs twice, and `ValidationFailed`.
    """
    given = [(name, value) for name, value in request.GET.items() if name in model.model_fields]
    values = {name: value.strip() for name, value in given if value.strip()}
    if len(dict(given)) < len(given):
        raise MalformedRequest
    if any("\0" in value for value in values.values()):
        raise _failed(name for name, value in values.items() if "\0" in value)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise _failed(str(item["loc"][0]) for item in error.errors()) from None


def _failed(names: Any) -> ValidationFailed:
    return ValidationFailed(details=[invalid(name) for name in names])


def invalid(name: str) -> FieldError:
    """The error of a filter whose value cannot be understood."""
    return FieldError("invalid", name, _NOT_A_LIMIT if name == "limit" else _NOT_A_VALUE)


def answer(
    request: Request, page: Page[Row], as_json: Callable[[Row], Mapping[str, Any]]
) -> dict[str, Any]:
    """The body of a part of a list; sets the header Link if there is a next part."""
    add_link(request, page.next)
    return {"data": [as_json(row) for row in page.rows], "next": page.next}


def add_link(request: Request, next_: str | None) -> None:
    """Set the header Link: the same request with the cursor ``next_``."""
    if next_ is not None:
        path = next_path(request, next_)
        request.response.headers["Link"] = f'<{path}>; rel="next"'


def next_path(request: Request, next_: str) -> str:
    """The path of the same route and filters, with the cursor ``next_``."""
    route = request.matched_route
    query = {**{name: value for name, value in request.GET.items() if value}, "cursor": next_}
    return route_path(request, route.name, **request.matchdict, _query=query)


# Reading that ends after five seconds: a search must not take the database from the others.


LIMIT = 5.0  # seconds of one statement; on SQLite of all
STEPS = 100_000  # of SQLite's virtual machine, between two looks at the clock
CANCELED = "57014"  # SQLSTATE query_canceled (PostgreSQL manual, appendix A)


@contextmanager
def limited(ctx: Context) -> Iterator[Session]:
    """A session apart from the request's, which only reads. Raises `SearchTooWide`.

    What it returns stays usable when the block has ended.
    """
    database = ctx.database
    sqlite = database.autocommit.dialect.name == "sqlite"
    engine = database.autocommit if sqlite else database.transactional
    with engine.connect() as connection, Session(connection, expire_on_commit=False) as db:
        undo = _limit(connection)
        try:
            yield db
        except DBAPIError as error:
            if _took_too_long(error):
                raise SearchTooWide from None
            raise
        finally:
            if undo:
                undo.set_progress_handler(None, 0)


def _limit(connection: Connection) -> sqlite3.Connection | None:
    """Set the limit; returns the connection of SQLite, which has to end it."""
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {int(LIMIT * 1000)}")
        return None
    driver: Any = connection.connection.dbapi_connection
    end = monotonic() + LIMIT
    driver.set_progress_handler(lambda: monotonic() > end, STEPS)
    found: sqlite3.Connection = driver
    return found


def _took_too_long(error: DBAPIError) -> bool:
    cause = error.orig
    return getattr(cause, "sqlstate", None) == CANCELED or str(cause) == "interrupted"
