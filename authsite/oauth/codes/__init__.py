"""Authorization codes: store one, and redeem it once (RFC 6749, section 4.1)."""

from typing import TYPE_CHECKING

from .service import purge
from .session_end import end_families

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The cleanup, and what the end of a browser session means for the tokens of applications."""
    config.at_session_end(end_families)
    config.add_cleanup(
        "authorization_codes", "Authorization codes", purge, when="expired a day ago"
    )
