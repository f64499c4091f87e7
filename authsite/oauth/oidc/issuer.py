"""The issuer identifier of this service (OpenID Connect Core 1.0, section 2)."""

from authsite.platform.context import Services


def issuer_of(services: Services) -> str:
    """The issuer: the first of the addresses in setting `base-url`, whichever a request came to.

    Raises `LookupError` if none is set; then OpenID Connect is off.
    """
    if not services.settings.base_url:
        raise LookupError("there is no issuer: set base-url to the address of this service")
    return services.settings.base_url[0]
