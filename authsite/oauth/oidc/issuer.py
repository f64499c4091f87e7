"""Stand-in."""

from authsite.context import Services


def issuer_of(services: Services) -> str:
    """The first base URL."""
    return str(services.settings.base_url[0])
