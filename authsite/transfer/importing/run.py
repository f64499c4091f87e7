"""Run an import: read rows, write them in batches, and pass on what became of each."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

from sqlalchemy.exc import DBAPIError, IntegrityError

from authsite.platform.context import Context
from authsite.platform.db.engine import without_time_limit
from authsite.platform.db.failures import RETRIES, is_conflict, pause

from .report import Outcome
from .rows import Row
from .users import Reserved

ROWS = 1000  # of a batch, which is one transaction

WriteRows: TypeAlias = Callable[[Context, Sequence[Row]], list[Outcome]]


class Progress(NamedTuple):
    """What became of the rows of a batch, and how much of the table is read."""

    outcomes: list[Outcome]
    done: int


def run(ctx: Context, rows: Iterator[Row], write: WriteRows) -> Iterator[Progress]:
    """Write all ``rows``, each batch in a separate transaction.

    A batch is tried again if a registration at the same time has taken a login name.
    """
    while batch := list(islice(rows, ROWS)):
        yield Progress(_in_transaction(ctx, write, batch), batch[-1].done)


def _in_transaction(ctx: Context, write: WriteRows, rows: Sequence[Row]) -> list[Outcome]:
    attempt = 0
    while True:
        attempt += 1
        try:
            with ctx.db.begin():
                without_time_limit(ctx.db.connection())
                return write(ctx, rows)
        except (Reserved, DBAPIError) as error:
            again = isinstance(error, Reserved | IntegrityError) or is_conflict(error)
            if not again or attempt > RETRIES:
                raise
            pause(attempt)
