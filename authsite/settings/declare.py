"""How a field of the settings is declared: one line says all that loading needs to know."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

T = TypeVar("T")
KEY = "authsite.settings.key"


@dataclass(frozen=True, slots=True)
class Key:
    """One key: how it is written, read and defaulted.

    ``parse`` takes text and raises ValueError with what is accepted; ``default`` is text that
    ``parse`` takes, or None; ``missing`` makes the key required and says how to get a value.
    """

    parse: Callable[[str], object]
    default: str | None
    name: str | None  # as documented; None where it is the attribute with - for _
    secret: bool  # never shown, and readable from a file (AUTHSITE_<KEY>_FILE)
    variable: str | None  # the specification's own environment variable
    missing: str | None


@overload
def setting(
    parse: Callable[[str], T],
    *,
    default: str,
    name: str | None = None,
    secret: bool = False,
    variable: str | None = None,
) -> T: ...
@overload
def setting(
    parse: Callable[[str], T],
    *,
    missing: str,
    name: str | None = None,
    secret: bool = False,
    variable: str | None = None,
) -> T: ...
@overload
def setting(
    parse: Callable[[str], T],
    *,
    name: str | None = None,
    secret: bool = False,
    variable: str | None = None,
) -> T | None: ...
def setting(
    parse: Callable[[str], object],
    *,
    default: str | None = None,
    name: str | None = None,
    secret: bool = False,
    variable: str | None = None,
    missing: str | None = None,
) -> Any:
    """A dataclass field with its `Key`; mypy checks the parser against the field's type."""
    key = Key(parse, default, name, secret, variable, missing)
    return field(metadata={KEY: key})
