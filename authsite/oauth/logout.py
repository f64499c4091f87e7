"""What other packages do at a logout of the API."""

from collections.abc import Callable

from authsite.platform.registrations import Registered
from authsite.platform.request_state import Request

AT_LOGOUT = Registered[Callable[[Request], None]]("functions for the logout")
