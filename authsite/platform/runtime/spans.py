"""Parts of a request that a trace shows. They cost next to nothing unless `tracing` is on."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext

Attributes = dict[str, str]
Recorder = Callable[[str, Attributes], AbstractContextManager[object]]

_NOTHING = nullcontext()
_record: Recorder | None = None


def span(name: str) -> AbstractContextManager[object]:
    """What is done in the ``with`` block, as a span of the current trace.

    A ``name`` has no identifier of a user, client, address or token.
    """
    return _NOTHING if _record is None else _record(name, {})


def query_span(system: str, statements: Iterable[str]) -> AbstractContextManager[object]:
    """Statements that run together, whose SQL has placeholders for all values, as one span.

    ``system``: the name of the SQLAlchemy dialect.
    """
    if _record is None:
        return _NOTHING
    sql = "; ".join(statements)
    return _record(operation(sql), query_attributes(system, sql))


def operation(sql: str) -> str:
    """``SELECT`` or another first word of a statement."""
    return sql.split(None, 1)[0].upper()


def query_attributes(system: str, sql: str) -> Attributes:
    """The attributes of a statement (OpenTelemetry, "Semantic conventions for database spans")."""
    return {
        "db.system.name": system,
        "db.operation.name": operation(sql),
        "db.query.text": sql,
    }


def record_with(recorder: Recorder | None) -> None:
    """From now on `span` is ``recorder``; nothing with None."""
    global _record
    _record = recorder
