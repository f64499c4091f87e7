"""Which secret and which sealing key a database belongs to: it records fingerprints of the first.

A process with another secret would reject all tokens and links of the other processes, and one with
another sealing key could not open what they have sealed. A fingerprint is an HMAC-SHA-256 under a
key that is derived for this purpose alone, so that it neither reveals its secret nor serves for
anything else.
"""

import hmac
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, cast

from sqlalchemy import Connection, Table, bindparam, delete, inspect, select, text

from authsite.platform.crypto.keys import hkdf, key_of
from authsite.platform.db.base import UtcDateTime
from authsite.platform.runtime import clock
from authsite.platform.settings import Secret, Settings

from .features import InstallationRecord

_RECORDS = cast(Table, InstallationRecord.__table__)
_INSERT = (
    "INSERT INTO installation_records (name, value, at) VALUES (:name, :value, :at)"
    " ON CONFLICT (name) DO "
)
_AT = bindparam("at", type_=UtcDateTime())
_RECORD_FIRST = text(_INSERT + "NOTHING").bindparams(_AT)
_RECORD = text(_INSERT + "UPDATE SET value = excluded.value, at = excluded.at").bindparams(_AT)


class Known(NamedTuple):
    """A setting of which the database knows the first value.

    ``other`` and ``unset`` say what to do if the settings have other values, or none.
    """

    name: str  # of the record, and of the key in the settings
    bytes_of: Callable[[str], bytes]
    other: str
    unset: str = ""

    def values(self, settings: Settings) -> tuple[Secret, ...]:
        """The values in their order."""
        found: tuple[Secret, ...] = getattr(settings, self._attribute)
        return found

    def announced(self, settings: Settings) -> tuple[Secret, ...]:
        """The values that are used next."""
        found: tuple[Secret, ...] = getattr(settings, f"{self._attribute}_next")
        return found

    @property
    def _attribute(self) -> str:
        return self.name.replace("-", "_")


SECRET = Known(
    "secret",
    str.encode,
    "the database knows another secret than AUTHSITE_SECRET: copy the environment file of a machine"
    " that serves with this database. If you have copied or restored the database and want to use "
    "this secret, run `authsite secret accept`",
)
SEALING_KEY = Known(
    "sealing-key",
    bytes.fromhex,
    "the database knows another sealing key than AUTHSITE_SEALING_KEY: copy it from the environment"
    " file of a machine that serves with this database. If you have copied or restored the database"
    " and want to use this key, run `authsite secret accept`: what another key has sealed does not"
    " open then",
    "the database knows a sealing key, and AUTHSITE_SEALING_KEY is not set here: copy it from the "
    "environment file of a machine that serves with this database. If it is lost, run `authsite "
    "secret accept` and then `authsite init`, which makes a new one: what the lost one has sealed "
    "does not open any more",
)
ALL_KNOWN = (SECRET, SEALING_KEY)


class OtherSecret(RuntimeError):
    """The database knows a secret or sealing key that the settings do not have."""


def fingerprint(known: Known, value: Secret) -> str:
    """What the database records about ``value``: 64 hexadecimal digits."""
    key = key_of(hkdf(known.bytes_of(value.reveal()), b"authsite installation"))
    return key.mac(known.name.encode()).hex()


def recorded(connection: Connection, known: Known) -> str | None:
    """The fingerprint in the database; None without one, or without its table.

    Raises SQLAlchemy's errors.
    """
    if not inspect(connection).has_table(_RECORDS.name):
        return None
    query = select(_RECORDS.c.value).where(_RECORDS.c.name == known.name)
    found: str | None = connection.scalar(query)
    return found


def problems(
    connection: Connection, settings: Settings, of: Sequence[Known] = ALL_KNOWN
) -> Iterator[tuple[Known, str]]:
    """What the database knows and the settings do not have, and what to do.

    A fingerprint may be that of any value of the list, also of an announced one. Raises
    SQLAlchemy's errors.
    """
    for known in of:
        found = recorded(connection, known)
        values = known.values(settings)
        if found is not None and not _fits(known, found, (*values, *known.announced(settings))):
            yield known, known.other if values else known.unset


def check(connection: Connection, settings: Settings, of: Sequence[Known] = ALL_KNOWN) -> None:
    """Raise `OtherSecret` for the first of `problems`. Raises SQLAlchemy's errors, too."""
    for _, message in problems(connection, settings, of):
        raise OtherSecret(message)


def check_and_record(connection: Connection, settings: Settings) -> None:
    """Check all as `check` does, and record the first value of each.

    Nothing is written if that is recorded already, and if only an announced one fits: then another
    machine is one step of the rotation ahead. The schema must be current.
    """
    check(connection, settings)
    for known in ALL_KNOWN:
        found, values = recorded(connection, known), known.values(settings)
        if not values:
            continue
        if found is None:
            _insert(connection, known, values[0], or_update=False)
        elif not _fits(known, found, values[:1]) and _fits(known, found, values):
            _insert(connection, known, values[0], or_update=True)
    check(connection, settings)  # another process may have been faster with its own


def record(connection: Connection, known: Known, first: Secret | None) -> None:
    """Record ``first``, whatever is recorded; None: that there is none.

    Raises SQLAlchemy's errors.
    """
    if first is None:
        connection.execute(delete(_RECORDS).where(_RECORDS.c.name == known.name))
    else:
        _insert(connection, known, first, or_update=True)


def record_all(connection: Connection, settings: Settings) -> None:
    """Record everything as it is in ``settings``. Raises SQLAlchemy's errors."""
    for known in ALL_KNOWN:
        record(connection, known, next(iter(known.values(settings)), None))


def _fits(known: Known, found: str, values: Iterable[Secret]) -> bool:
    return any(
        hmac.compare_digest(found.encode(), fingerprint(known, each).encode()) for each in values
    )


def _insert(connection: Connection, known: Known, first: Secret, *, or_update: bool) -> None:
    statement = _RECORD if or_update else _RECORD_FIRST
    values = {"name": known.name, "value": fingerprint(known, first), "at": clock.now()}
    connection.execute(statement, values)
