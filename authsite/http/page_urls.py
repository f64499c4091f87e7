"""Page addresses that a caller may choose for a mailed link: listed ones, letter for letter."""

from collections.abc import Sequence

from .errors import FieldError, ValidationFailed


def check_page_url(url: str, allowed: Sequence[str], field: str) -> str:
    """``url`` if it equals an entry of ``allowed``, character by character (RFC 9700, 4.1).

    Raises `ValidationFailed` with the code ``not_allowed`` on ``field``.
    """
    if url in allowed:
        return url
    message = "This address is not among the configured ones. Send one of them unchanged."
    raise ValidationFailed(details=[FieldError("not_allowed", field, message)])
