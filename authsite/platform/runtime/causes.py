"""The cause of an error of the database, for the operator."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy.exc import SQLAlchemyError


def cause_of(error: "SQLAlchemyError") -> str:
    """The first line of the driver's message."""
    return str(getattr(error, "orig", error)).strip().splitlines()[0]
