"""Scopes: parsing, the client's default, and narrowing (RFC 6749, sections 3.3 and 6)."""

from .errors import InvalidScope


def parse(text: str) -> list[str]:
    """The scopes in ``text``, each once, in the order given."""
    return list(dict.fromkeys(text.split(" "))) if text.strip(" ") else []


def granted(asked: str | None, allowed: str, default: str) -> str:
    """What a request for ``asked`` gets: ``default`` for none; raises `InvalidScope`."""
    wanted = [scope for scope in parse(asked or "") if scope]
    if not wanted:
        return default
    return narrowed(" ".join(wanted), allowed)


def narrowed(asked: str | None, allowed: str) -> str:
    """``asked`` if all of it is in ``allowed``, all of ``allowed`` for none.

    Raises `InvalidScope` for anything unknown or wider.
    """
    wanted = [scope for scope in parse(asked or "") if scope]
    if not wanted:
        return allowed
    if not set(wanted) <= set(parse(allowed)):
        raise InvalidScope
    return " ".join(wanted)
