"""The audit trail: one row for each event, in the transaction of its cause."""

from functools import partial
from typing import Any


def includeme(config: Any) -> None:
    """``request.authsite.record_denial(error)``, for the error views."""
    from .denials import record_denial

    config.add_request_attribute("record_denial", lambda request: partial(record_denial, request))
