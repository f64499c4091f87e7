"""Options that choose events."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import click
from sqlalchemy.orm import Session

from authsite.admin.audit import filters
from authsite.admin.audit.filters import moment
from authsite.platform.audit.events import Event, begins
from authsite.platform.runtime.ids import as_id


def user_id_of(db: Session, email_or_id: str | None, named: str = "--user") -> UUID | None:
    """The id of a user, or an id as it was given: the user may be deleted."""
    if email_or_id is None:
        return None
    return filters.user_id_of(db, email_or_id) or id_of(email_or_id, named, "user")


def id_of(text: str | None, named: str, group: str) -> UUID | None:
    """The id in the option or argument ``named``, of what the commands of ``group`` list.

    Raises `click.ClickException` for another text.
    """
    if text is None:
        return None
    found = as_id(text)
    if found is None:
        raise click.ClickException(
            f"{named}: nothing has the name or id {text!r}; `authsite {group} list` shows the ids"
        )
    return found


def event_of(text: str | None) -> str | None:
    """The name of an event, or the beginning of names. Raises `click.ClickException`."""
    if text and not begins(text):
        groups = sorted({event.partition(".")[0] for event in Event})
        raise click.ClickException(
            f"--event: no event begins with {text!r}; they begin with {', '.join(groups)}"
        )
    return text


def _moment(_ctx: click.Context, _option: click.Parameter, text: str | None) -> datetime | None:
    """A point in time: so long ago, or a date."""
    if text is None:
        return None
    found = moment(text)
    if found is None:
        raise click.ClickException(
            f"--since: {text!r} is neither a duration (90m, 24h, 7d) nor a date (2026-05-31)"
        )
    return found


since_option: Callable[[Any], Any] = click.option(
    "--since",
    metavar="TIME",
    callback=_moment,
    help="A duration such as 24h or 7d, or a date in UTC.",
)
