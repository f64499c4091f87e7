"""Log the errors of a background task, which goes on after every error."""

from sqlalchemy.exc import SQLAlchemyError
from structlog.typing import FilteringBoundLogger


def log_failure(log: FilteringBoundLogger, event: str, error: Exception, last_error: str) -> str:
    """Log ``event`` unless ``error`` is of the type ``last_error``; return the name of its type.

    An error of the database needs no traceback; any other one is a bug.
    """
    kind = type(error).__name__
    if kind != last_error:
        cause = {} if isinstance(error, SQLAlchemyError) else {"exc_info": error}
        log.warning(event, reason=kind, **cause)
    return kind
