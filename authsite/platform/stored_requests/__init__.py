"""What a browser goes on with later, and what is too long for a link or a cookie."""

from typing import TYPE_CHECKING

from authsite.platform.user_data import UserData

from .models import StoredRequest
from .service import purge

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The table and its cleanup."""
    config.add_user_data(UserData("stored_requests", StoredRequest))
    config.add_cleanup("stored_requests", "Stored requests", purge, when="ended a day ago")
