"""Which secret a database belongs to: it records a fingerprint of the first one.

A process with another secret would reject all tokens and links of the other processes. The
fingerprint is an HMAC-SHA-256 under a key that is derived from the secret for this purpose alone,
so that it neither reveals the secret nor serves for anything else.
"""

import hmac
from collections.abc import Iterable
from typing import cast

from sqlalchemy import Connection, Table, bindparam, inspect, select, text

from authsite import clock
from authsite.crypto.keys import derived_key
from authsite.db.base import UtcDateTime
from authsite.settings import Secret, Settings

from .models import InstallationRecord

_RECORDS = cast(Table, InstallationRecord.__table__)
_NAME = "secret"
_INSERT = (
    "INSERT INTO installation_records (name, value, at) VALUES (:name, :value, :at)"
    " ON CONFLICT (name) DO "
)
_AT = bindparam("at", type_=UtcDateTime())
_RECORD_FIRST = text(_INSERT + "NOTHING").bindparams(_AT)
_RECORD = text(_INSERT + "UPDATE SET value = excluded.value, at = excluded.at").bindparams(_AT)
OTHER_SECRET = (
    "the database knows another secret than AUTHSITE_SECRET: copy the environment file of a machine"
    " that serves with this database. If you have copied or restored the database and want to use "
    "this secret, run `authsite secret accept`"
)


class OtherSecret(RuntimeError):
    """The database knows a secret that the settings do not have."""

    def __init__(self) -> None:
        super().__init__(OTHER_SECRET)


def fingerprint(secret: Secret) -> str:
    """What the database records about ``secret``: 64 hexadecimal digits."""
    return derived_key(secret.reveal(), "installation").mac(b"secret").hex()


def recorded(connection: Connection) -> str | None:
    """The fingerprint in the database; None without one, or without its table.

    Raises SQLAlchemy's errors.
    """
    if not inspect(connection).has_table(_RECORDS.name):
        return None
    found: str | None = connection.scalar(select(_RECORDS.c.value).where(_RECORDS.c.name == _NAME))
    return found


def check(connection: Connection, settings: Settings) -> str | None:
    """The recorded fingerprint, or None. It may be that of any secret, also of the announced one.

    Raises `OtherSecret` if it is that of none, and SQLAlchemy's errors.
    """
    found = recorded(connection)
    if found is not None and not _fits(found, (*settings.secret, *settings.secret_next)):
        raise OtherSecret
    return found


def check_and_record(connection: Connection, settings: Settings) -> None:
    """Check the secret as `check` does, and record the first one.

    Nothing is written if that is recorded already, and if only the announced secret fits: then
    another machine is one step of the rotation ahead. The schema must be current.
    """
    found = check(connection, settings)
    first = settings.secret[0]
    if found is None:
        _insert(connection, first, or_update=False)
        check(connection, settings)  # another process may have been faster with its own
    elif not _fits(found, (first,)) and _fits(found, settings.secret):
        _insert(connection, first, or_update=True)


def record(connection: Connection, first: Secret) -> None:
    """Record the fingerprint of ``first``, whichever is recorded. Raises SQLAlchemy's errors."""
    _insert(connection, first, or_update=True)


def _fits(found: str, secrets: Iterable[Secret]) -> bool:
    return any(hmac.compare_digest(found.encode(), fingerprint(each).encode()) for each in secrets)


def _insert(connection: Connection, first: Secret, *, or_update: bool) -> None:
    statement = _RECORD if or_update else _RECORD_FIRST
    values = {"name": _NAME, "value": fingerprint(first), "at": clock.now()}
    connection.execute(statement, values)
