"""Follow the audit trail: ``authsite audit list --follow``."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy.orm import Session

from authsite.admin.audit.rows import facts
from authsite.platform.audit.service import Filter, latest_id, search
from authsite.platform.command_line.shared import open_for, visible
from authsite.platform.settings import Settings

POLL = 1.0  # seconds between two looks
# Ids that are read again: a transaction with a smaller id may be committed later.
OVERLAP = 1000
_AT_ONCE = 10 * OVERLAP  # events of one look
_WIDTHS = (20, 22, 28, 15, 22)  # of columns, whose longest value is not known yet


def follow_events(cfg: Settings, wanted: Filter, limit: int) -> Iterator[dict[str, Any]]:
    """The latest events as `facts`, and then each as soon as it can be seen; until Ctrl-C."""
    with open_for(cfg) as database:
        with Session(database.autocommit) as db:
            newest = latest_id(db)
            found = search(db, wanted, limit).events
            again = wanted._replace(after_id=newest - OVERLAP)
            seen = {each.id for each in [*found, *search(db, again, _AT_ONCE).events]}
            latest = facts(db, found)
        yield from latest
        while True:
            time.sleep(POLL)
            with Session(database.autocommit) as db:
                again = wanted._replace(after_id=newest - OVERLAP)
                newest = latest_id(db)
                found = [e for e in search(db, again, _AT_ONCE).events if e.id not in seen]
                latest = facts(db, found)
            yield from latest
            seen = {id_ for id_ in seen if id_ > newest - OVERLAP} | {each.id for each in found}


def line(cells: Sequence[str]) -> str:
    """A row on one line, with columns of fixed width as far as its values fit."""
    padded = [f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=False)]
    return visible("  ".join([*padded, *cells[len(_WIDTHS) :]]).rstrip())
