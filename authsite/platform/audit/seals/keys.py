"""The keys of seals: of the setting ``audit-key``, or derived from the secrets."""

from typing import NamedTuple

from authsite.platform.crypto.keys import Key, derived_key, key_of
from authsite.platform.settings import Settings

from .seal import Seal

PURPOSE = "audit"


class AuditKey(NamedTuple):
    """A key of seals. With ``until`` it was replaced, and made no later seal than that one."""

    key: Key
    until: int | None = None

    def covers(self, seal: Seal) -> bool:
        """Whether ``seal`` can be by this key."""
        return self.until is None or seal.id <= self.until

    def ending(self, until: int) -> "AuditKey":
        """This key, for no later seals than ``until``."""
        return self._replace(until=until if self.until is None else min(until, self.until))


AuditKeys = tuple[AuditKey, ...]


def audit_keys(settings: Settings) -> AuditKeys:
    """The keys of seals: the first makes them, all verify, up to the last seal of each.

    Without ``audit-key`` they derive from the secrets, the oldest first. ``authsite secret rotate``
    writes that key to ``audit-key``, so that seals can be verified after the end of the secret.
    """
    if settings.audit_key:
        return tuple(_audit_key(each.reveal()) for each in settings.audit_key)
    derived = (derived_key(each.reveal(), PURPOSE) for each in reversed(settings.secret))
    return tuple(map(AuditKey, derived))


def _audit_key(text: str) -> AuditKey:
    key, _, until = text.partition("@")
    return AuditKey(key_of(bytes.fromhex(key)), int(until) if until else None)


def keys_in_hex(keys: AuditKeys) -> str:
    """The value of ``audit-key`` that stands for ``keys``."""
    return " ".join(
        key.secret.hex() + ("" if until is None else f"@{until}") for key, until in keys
    )
