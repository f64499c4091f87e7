"""Stand-in."""

from authsite.context import Services


def is_on(services: Services) -> bool:
    """Whether there is a base URL."""
    return bool(services.settings.base_url)
