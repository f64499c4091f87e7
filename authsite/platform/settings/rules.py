"""A rule names one choice that is unsafe in production; `unsafe_choices` lists all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .definition import PREFIX
from .definitions import Settings
from .lookup import documented_key

Level = Literal["start", "refused", "required", "warned", "warned-in-production", "named"]
# What a rule does in addition to its line of `doctor`.
START: Level = "start"  # no application starts, with or without `production`
REFUSED: Level = "refused"  # with `production` no application starts; without it, a warning
REQUIRED: Level = "required"  # with `production` no application starts; without it, nothing
WARNED: Level = "warned"  # a warning at every start
WARNED_LATER: Level = "warned-in-production"  # a warning at every start with `production`
NAMED: Level = "named"  # nothing


@dataclass(frozen=True, slots=True)
class Rule:
    """One unsafe choice.

    ``found`` returns what is unsafe in the settings, or a false value. It replaces ``{found}`` in
    ``message``.
    """

    name: str
    attribute: str  # of `Settings`
    found: Callable[[Settings], object]
    message: str
    level: Level

    @property
    def key(self) -> str:
        """The key as the documentation writes it, with its prefix."""
        return documented_key(self.attribute)

    @property
    def subject(self) -> str:
        """The key without its prefix."""
        return subject(self.attribute)

    def broken_by(self, settings: Settings) -> str | None:
        """The message, or None if the choice is safe."""
        found = self.found(settings)
        return self.message.format(found=found) if found else None


def subject(attribute: str) -> str:
    """The key of an attribute without its prefix."""
    return documented_key(attribute).removeprefix(PREFIX)
