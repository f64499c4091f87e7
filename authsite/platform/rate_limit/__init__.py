"""Rate limits, counted over all processes.

The table of all limits is in ``authsite/platform/settings/rate_limits.py``.
"""

from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from pyramid.config import Configurator


def limit_subject(user_id: UUID) -> str:
    """The key of a user in the limits. No login name contains a blank, so none equals it."""
    return f"user {user_id}"


def includeme(config: "Configurator") -> None:
    """The view option ``rate_limit="register-address"``, and the cleanup of counters."""
    from .storage import purge
    from .view_option import rate_limit_deriver

    config.add_cleanup("counters", "Counters of limits", purge, when="window over")

    config.add_view_deriver(
        rate_limit_deriver, "authsite_rate_limit", under="authsite_body", over="rendered_view"
    )
