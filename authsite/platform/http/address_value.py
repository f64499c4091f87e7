"""The application's own address as a value."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

DEFAULT_PORT = {"http": ":80", "https": ":443"}


@dataclass(frozen=True, slots=True)
class Address:
    """The address of the application as its users see it."""

    origin: str
    """Scheme, host and port as browsers write them (RFC 6454, section 6.2)."""
    mount: str
    """The path that the application is mounted at, percent-encoded; "" for none."""
    prefix: str
    """The route prefix that authsite is included with; "" for none."""

    @property
    def application_url(self) -> str:
        """The URL of the whole application, a host's for example; no slash at the end."""
        return f"{self.origin}{self.mount}"

    @property
    def base_url(self) -> str:
        """The URL that all of authsite's own URLs begin with; no slash at the end."""
        return f"{self.application_url}{self.prefix}"

    @property
    def https(self) -> bool:
        """Whether users connect with TLS."""
        return self.origin.startswith("https:")


def configured(base_urls: Sequence[str], prefix: str) -> tuple[Address, ...]:
    """The addresses in setting `base-url`, where each URL may end with the route prefix."""
    found = []
    for url in base_urls:
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        found.append(Address(origin, parts.path.removesuffix(prefix), prefix))
    return tuple(found)


def origin_of(scheme: str, host: str) -> str:
    """The origin of ``scheme`` (http or https) and ``host``, without the default port."""
    return f"{scheme}://{host.removesuffix(DEFAULT_PORT[scheme])}"
