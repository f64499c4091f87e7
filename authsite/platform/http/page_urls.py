"""URLs of pages that a caller may choose for the link in a mail."""

from collections.abc import Sequence

from .errors import FieldError, ValidationFailed


def choose_page_url(url: str | None, allowed: Sequence[str], field: str) -> str:
    """``url`` if ``allowed`` contains exactly this text (RFC 9700, section 4.1).

    Without ``url`` the result is the first of ``allowed``. Raises `ValidationFailed` with the code
    ``not_allowed`` on ``field``.
    """
    if url is None:
        return allowed[0]
    if url in allowed:
        return url
    raise page_not_allowed(field)


def page_not_allowed(field: str) -> ValidationFailed:
    """The error for a page that the settings do not list."""
    message = "This URL is not among the configured ones. Send one of them unchanged."
    return ValidationFailed(details=[FieldError("not_allowed", field, message)])


def page_required(field: str) -> ValidationFailed:
    """The error for an API request that has to name a page and does not."""
    message = "Send the page that the link opens: one of those in the settings."
    return ValidationFailed(details=[FieldError("required", field, message)])
