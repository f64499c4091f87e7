"""Each setting with its value, default and source; of secrets only that they are set."""

from collections.abc import Mapping
from typing import NamedTuple

from authsite.platform.context import Context
from authsite.platform.crypto.keys import KeyRing
from authsite.platform.settings.secret import Secret
from authsite.platform.settings.shown import Shown, all_settings

PURPOSE = "admin settings"
SET = "set"
_LENGTH = 12  # hexadecimal digits


class Setting(NamedTuple):
    """A setting. The ``value`` of a secret is `SET`, or None.

    ``fingerprints``: of each value of a secret. The same value has the same one, in all processes;
    a person who does not have the secret of authsite cannot try out values.
    """

    key: str
    value: str | None
    default: str | None
    source: str
    secret: bool
    fingerprints: tuple[str, ...]

    @property
    def fingerprint(self) -> str | None:
        """All fingerprints as one text; None if there is none."""
        return " ".join(self.fingerprints) or None


def list_settings(ctx: Context, ini: Mapping[str, object]) -> list[Setting]:
    """All settings, in the order of the documentation. ``ini``: the settings of the application."""
    ring = ctx.services.keys[PURPOSE]
    return [_setting(ring, each) for each in all_settings(ctx.settings, ini)]


def _setting(ring: KeyRing, shown: Shown) -> Setting:
    if not shown.secret:
        return Setting(shown.key, shown.value, shown.default, shown.source, False, ())
    prints = tuple(_fingerprint(ring, each) for each in shown.secrets)
    is_set = shown.value is not None
    return Setting(shown.key, SET if is_set else None, None, shown.source, True, prints)


def _fingerprint(ring: KeyRing, value: Secret) -> str:
    return ring.signing.mac(value.reveal().encode()).hex()[:_LENGTH]
