"""The latest denied requests, which ``authsite explain`` finds by the id of the request.

The table is bounded in rows, in days, and in what one address adds: unlike the audit trail it may
forget, so that callers who are not authenticated can have a row.
"""

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyramid.config import Configurator

    from .reason import DenialReason


def add_reasons(config: "Configurator", name: str, table: "type[DenialReason]") -> None:
    """Directive: ``table`` has the reasons of an endpoint, or of several, called ``name``."""
    from .service import TABLES

    TABLES.add(config, table, name)


def includeme(config: "Configurator") -> None:
    """``config.add_reasons``, ``request.authsite.note_denied``, the task and the cleanup."""
    from authsite.platform.user_data import UserData

    from .models import DeniedRequest
    from .notes import NAME, NOTES, DeniedRequests, make_job
    from .service import note, purge

    services = config.registry["authsite"]
    NOTES.add(config, DeniedRequests(services.database), NAME)
    config.add_directive("add_reasons", add_reasons)
    config.add_request_attribute("note_denied", partial(partial, note))
    # The address of the caller is in it; the rows are of no user, and end after a week.
    config.add_user_data(UserData("denied_requests", DeniedRequest, retained=True))
    config.add_cleanup("denied_requests", "Denied requests", purge, when="older than a week")
    # A host that sends mail on a thread has room for this one.
    enabled = services.settings.mail_sender == "thread" or None
    config.add_background_task(NAME, make_job, enabled=enabled)
