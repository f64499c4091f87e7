"""The state of one application that this package needs: ``registry["authsite.http"]``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Environment

    from .address_value import Address
    from .cached_response import Assets, CachedResponse
    from .errors import ErrorFormat


@dataclass(slots=True)
class HttpApplication:
    """Set during configuration; the last three at start-up."""

    standalone: bool = False
    """True for authsite's own application, False in a host application."""
    mail_copies: "Path | None" = None
    """The folder with copies of mails that `/dev/mail` shows; None: there is no such page."""
    prefix: str = ""
    """The host's route prefix for authsite, with a slash in front; "" for none."""
    addresses: "tuple[Address, ...]" = ()
    """The addresses in setting `base-url`; the first is the default."""
    hsts: str | None = None
    """The value of the header Strict-Transport-Security; None to omit it."""
    templates: "Environment | None" = None
    assets: "Assets | None" = None
    own_files: "Mapping[str, CachedResponse]" = field(default_factory=dict)
    """The files of setting `static-folder`, by name."""
    error_formats: "dict[str, ErrorFormat]" = field(default_factory=dict)
    """Path -> how errors at it and below it are written."""
    route_formats: "dict[str, ErrorFormat]" = field(default_factory=dict)
    """Name of a route that states the format of its errors -> that format."""
    methods: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Route name -> its methods, for authsite's own routes."""
    read_with_get: Mapping[str, bool] = field(default_factory=dict)
    """Route name -> whether it has GET, for all routes of the application."""
