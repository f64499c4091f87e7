"""Scopes: parse, choose, narrow (RFC 6749, sections 3.3 and 6)."""

from .errors import InvalidScope


def parse(text: str) -> list[str]:
    """The scopes in ``text``, each once, in the order given."""
    return list(dict.fromkeys(scope for scope in text.split(" ") if scope))


def choose(requested: str | None, allowed: str, default: str) -> str:
    """The scope that is granted: ``requested``, or ``default`` if it is empty.

    Raises `InvalidScope` for a scope that is not in ``allowed``.
    """
    return narrow(requested, allowed) if requested and requested.strip(" ") else default


def narrow(requested: str | None, allowed: str) -> str:
    """``requested``, or ``allowed`` if it is empty.

    Raises `InvalidScope` for a scope that is not in ``allowed``.
    """
    scopes = parse(requested or "")
    if not scopes:
        return allowed
    if not set(scopes) <= set(parse(allowed)):
        raise InvalidScope
    return " ".join(scopes)
