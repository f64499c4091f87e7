"""Where a request comes from, as plain values: address, user agent, language and request id."""

from contextvars import ContextVar
from dataclasses import dataclass

# The id of the request that this thread works on, for log lines.
REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """What use cases and audit events need to know of a request.

    ``base_urls`` are the base URLs of the application; links in mails begin with the first one,
    which is that of the request. ``language`` is the language of these mails and of pages;
    ``stated_language`` is the same, or None if neither a person nor a browser has stated one.
    ``port``: on which the server listens, whatever the request says.
    """

    address: str | None = None
    agent: str | None = None
    request_id: str | None = None
    base_urls: tuple[str, ...] = ("",)
    language: str = "en"
    stated_language: str | None = None
    port: str | None = None

    @property
    def base_url(self) -> str:
        """The base URL that the request was sent to."""
        return self.base_urls[0]
