"""Where the page that signs out leads to: `next`, as a link of an application names it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from authsite.platform.context import Services
from authsite.platform.http.return_to import return_target, sent_next
from authsite.platform.registrations import Registered
from authsite.platform.request_state import Request

if TYPE_CHECKING:
    from pyramid.config import Configurator

Allows = Callable[[Services, str], bool]
ORIGINS = Registered[Allows]("origins that a logout may lead to")


def add_logout_origins(config: "Configurator", allows: Allows) -> None:
    """Let a logout lead to the origins that ``allows(services, origin)`` accepts."""
    ORIGINS.add(config, allows)


def logout_target(request: Request) -> str | None:
    """``next`` of the form or the query: a local path, or a URL in `return-origins` or registered.

    None without one, and for any other: a link of a stranger must not lead on from our page.
    """
    services = request.authsite.services

    def is_registered(origin: str) -> bool:
        return any(allows(services, origin) for allows in ORIGINS.of(services).values())

    return return_target(request, sent_next(request), is_registered)
