"""Stand-in."""

from authsite.context import Context

from .models import Resource


class InvalidTarget(Exception):
    """Unknown resource."""


def choose(ctx: Context, requested: str | None, default_resource: str | None) -> Resource | None:
    """The resource."""
    if requested:
        raise InvalidTarget
    return None


def scope_for(resource: Resource, scope: str) -> str:
    """The scope."""
    return scope
