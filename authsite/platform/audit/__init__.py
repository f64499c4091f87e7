"""The audit trail: one row for each event, in the transaction of its cause."""

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """``request.authsite.record_denial(error)`` and ``record_exceeded``, and the seals."""
    from .purge import purge
    from .service import record_denial, record_exceeded
    from .user_data import USER_DATA

    for function in (record_denial, record_exceeded):
        config.add_request_attribute(function.__name__, partial(partial, function))
    config.add_user_data(USER_DATA)
    config.add_cleanup("audit", "Audit trail", purge, when="older than audit-keep")
    config.include(".seals")
