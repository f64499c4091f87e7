"""What a source of rows is, and how the lines of its files are read."""

import uuid
from abc import ABC, abstractmethod
from base64 import b32decode, b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

from sqlalchemy import Column, String, Table

from authsite.platform.runtime.ids import as_id

from .temporary import look_up, new_table


class SourceUnusable(Exception):
    """The source as a whole cannot be read, or not any further; the text says what to do."""


class Row(NamedTuple):
    """A row: its number (the line in a file of values), and how much of the table is read with it.

    ``fault``: why the row cannot be read, or None.
    """

    number: int
    values: Mapping[str, object]
    done: int
    fault: str | None = None


class Source(ABC):
    """Where rows come from. Methods raise `SourceUnusable`."""

    files: Sequence[Path]
    """The files that are read."""

    @abstractmethod
    def has(self, table: str) -> bool:
        """Whether there is such a table."""

    def columns(self, _table: str) -> Sequence[str] | None:
        """The names of the columns, if the source has them apart from its rows."""
        return None

    def ignored(self, _table: str) -> Sequence[str]:
        """The columns that were not read, of a file that its operator has written."""
        return ()

    @abstractmethod
    def size(self, table: str) -> int:
        """What `Row.done` is at the end: rows, or bytes."""

    @abstractmethod
    def rows(self, table: str) -> Iterator[Row]:
        """The rows, in the order of the primary key or of the file."""

    @abstractmethod
    def close(self) -> None:
        """Close what is open between two tables."""


class FileSource(Source):
    """A file with all tables. Each table is read in a separate pass."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.files = [path]

    def size(self, _table: str) -> int:
        """The bytes of the file."""
        return self._path.stat().st_size

    def close(self) -> None:
        """Nothing is open between two tables."""


class Lines:
    """The lines of a text file, and the number of bytes that are read.

    A byte that is not UTF-8 becomes a surrogate, which no field may contain. Raises
    `SourceUnusable` for a file that cannot be read.
    """

    def __init__(self, path: Path, encoding: str = "utf-8") -> None:
        self._path, self._encoding = path, encoding
        self.read = 0

    def __enter__(self) -> Self:
        with readable(self._path):
            self._file: BufferedReader = self._path.open("rb")
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[str]:
        while line := self._next():
            encoding = self._encoding if self.read == 0 else "utf-8"
            self.read += len(line)
            yield line.decode(encoding, "surrogateescape")

    def _next(self) -> bytes:
        with readable(self._path):
            return self._file.readline()


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Raise `SourceUnusable` if the file ``path`` cannot be read."""
    try:
        yield
    except OSError as error:
        raise SourceUnusable(f"{path}: {error.strerror}: give a file that can be read") from None


# The values of a row of another system, before our rules check it, and how they are read.


_NAMESPACE = uuid.UUID("8b0f5c56-6a4e-4c0e-9a0b-1f6f0f3f2b7a")
_TRUE = ("1", "\1", "t", "true", "yes", "y", "on")
_FALSE = ("", "0", "\0", "f", "false", "no", "n", "off")
_NO_DATE = "0000-00-00"  # MySQL has it where others have NULL

# Without a colon: what follows one is left out where faults are counted.
NUL = "has a NUL character"
NOT_UTF_8 = (
    "is not UTF-8; save the source in UTF-8, such as with `iconv -f latin1 -t utf-8`, and import "
    "it again"
)


class Fault(Exception):
    """Why a row is not taken: the field, or None for the whole row, and the reason."""

    def __init__(self, field: str | None, reason: str) -> None:
        self.field, self.reason = field, reason
        super().__init__(f"{field}: {reason}" if field else reason)


class UserDraft(NamedTuple):
    """A user as the source has it. ``login_names``: kind -> text."""

    source_id: str
    login_names: Mapping[str, str | None]
    name: str | None
    password: str | None
    """The stored hash; None for a user without a password."""
    created_at: datetime | None
    updated_at: datetime | None = None
    confirmed: bool | None = None
    """False where the source says for certain that it is not; None: ``--confirmed`` decides."""
    confirmed_at: datetime | None = None
    disabled: bool = False
    disabled_at: datetime | None = None
    delete_at: datetime | None = None  # of a disabled user
    terms: tuple[str | None, datetime | None] = (None, None)
    """The URL of the terms that the user has accepted, and when."""
    language: str | None = None
    """Of mails to the user."""
    factors: "FactorDraft | None" = None
    """What the user has of second factors, which come with the user."""
    last_sign_in_at: datetime | None = None


class FactorDraft(NamedTuple):
    """The columns of a user about second factors; see `User`."""

    second_factor_at: datetime | None
    factors_since: datetime | None
    passkey_after_password: bool


class TotpDraft(NamedTuple):
    """An authenticator app as the source has it; ``secret``: opened."""

    source_id: str
    user_id: str
    secret: bytes
    digits: int = 6
    period: int = 30
    algorithm: str = "SHA1"
    last_step: int = 0
    failures: int = 0
    created_at: datetime | None = None
    used_at: datetime | None = None


class PasskeyDraft(NamedTuple):
    """A passkey as the source has it; ``credential_id``, ``user_handle``: in base64url."""

    source_id: str
    user_id: str
    credential_id: str
    public_key: bytes
    user_handle: str
    rp_id: str
    sign_count: int
    aaguid: uuid.UUID
    transports: str
    backup_eligible: bool
    backed_up: bool
    uv_initialized: bool
    name: str
    created_at: datetime | None
    used_at: datetime | None


class CodeDraft(NamedTuple):
    """A recovery code of another authsite."""

    source_id: str
    user_id: str
    mac: str
    created_at: datetime | None
    used_at: datetime | None


class IdentityDraft(NamedTuple):
    """An identity at a provider as the source has it; ``user_id``: as the source has it."""

    source_id: str
    user_id: str
    provider: str
    issuer: str
    subject: str
    email: str | None
    trusted: bool
    created_at: datetime | None
    used_at: datetime | None


class ClientDraft(NamedTuple):
    """A client as the source has it; ``type`` is one of ours."""

    source_id: str
    name: str
    type: str
    secret: str | None
    """Its hash, with SHA-256 in lower-case hex or with bcrypt; None for a public client."""
    scopes: tuple[str, str]
    """What it may ask for, and the default scope."""
    disabled: bool
    created_at: datetime | None
    updated_at: datetime | None
    previous_secret: str | None = None
    disabled_at: datetime | None = None
    grant_types: str | None = None
    """Separated by blanks; None for those of the type."""
    columns: Mapping[str, Any] = {}
    """Further columns, of clients that sign people in with a code."""
    uris: Sequence[str] = ()
    """The redirect URIs, where the row of the client has them."""


class ClientUriDraft(NamedTuple):
    """A URI of a client of another authsite."""

    client_id: str
    kind: str
    uri: str
    position: int


class ResourceDraft(NamedTuple):
    """A resource of another authsite."""

    uri: str
    scopes: str
    client_id: str | None
    tokens: str
    created_at: datetime | None
    updated_at: datetime | None


class GroupDraft(NamedTuple):
    """A group as another authsite has it."""

    name: str
    title: str
    scopes: str
    require_acr: str | None
    created_at: datetime | None
    updated_at: datetime | None


class MembershipDraft(NamedTuple):
    """A user is in a group of another authsite."""

    user_id: str
    group_name: str
    created_at: datetime | None


def new_id(system: str, source_id: str) -> uuid.UUID:
    """The id of the user ``source_id`` of ``system``: a UUID stays, and another text gives one.

    The same text always gives the same id (RFC 9562, section 5.5), so that an import that is
    started again finds what it has written.
    """
    return as_id(source_id.lower()) or uuid.uuid5(_NAMESPACE, f"{system}\n{source_id}")


def text(row: Mapping[str, object], column: str) -> str | None:
    """The text of a column without surrounding blanks; None if it is missing or empty.

    Raises `Fault` for text that is not UTF-8.
    """
    value = row.get(column)
    if isinstance(value, bytes):
        value = value.decode(errors="surrogateescape")
    if isinstance(value, str) and not _is_unicode(value):
        raise Fault(column, NOT_UTF_8)
    return None if value is None else str(value).strip() or None


def base32(given: str) -> bytes:
    """The secret of an authenticator app. Raises `Fault`."""
    digits = given.replace(" ", "").rstrip("=").upper()
    try:
        return b32decode(digits + "=" * (-len(digits) % 8))
    except ValueError:
        raise Fault("secret", "is not base32: it may be encrypted") from None


def base64url(field: str, given: str) -> bytes:
    """What a text in base64url, with or without padding, stands for. Raises `Fault`."""
    try:
        digits = given.rstrip("=").translate(str.maketrans("-_", "+/"))
        return b64decode(digits + "=" * (-len(digits) % 4), validate=True)
    except ValueError:
        raise Fault(field, "is not base64url") from None


def reported_id(row: Mapping[str, object], column: str = "id") -> str | None:
    """The id of a row for a report, whatever else is wrong with it."""
    try:
        return text(row, column)
    except Fault:
        return None


def required(row: Mapping[str, object], column: str) -> str:
    """The text of a column. Raises `Fault` if there is none.

    And for one with a NUL: rows are looked for by such texts, and PostgreSQL compares no NUL.
    """
    value = text(row, column)
    if value is None:
        raise Fault(column, "is missing")
    if "\0" in value:
        raise Fault(column, NUL)
    return value


def flag(row: Mapping[str, object], column: str, default: bool = False) -> bool:
    """A boolean, however the source writes it (MySQL's BIT as a byte). Raises `Fault`."""
    if row.get(column) is None:
        return default
    written = (text(row, column) or "").lower()
    if written in _TRUE:
        return True
    if written in _FALSE:
        return False
    raise Fault(column, "is neither true nor false")


def number(row: Mapping[str, object], column: str, maximum: int) -> int | None:
    """A whole number from 0 to ``maximum``; None if it is missing. Raises `Fault`."""
    written = text(row, column)
    if written is None:
        return None
    if not (written.isascii() and written.isdigit()) or int(written[:10]) > maximum:
        raise Fault(column, f"is no whole number from 0 to {maximum}")
    return int(written[:10])


def moment(row: Mapping[str, object], column: str) -> datetime | None:
    """A moment; in UTC if the source names no time zone. Raises `Fault`."""
    value = row.get(column)
    if not isinstance(value, datetime):
        written = text(row, column) or ""
        if not written or written.startswith(_NO_DATE):
            return None
        try:
            value = datetime.fromisoformat(written)
        except ValueError:
            raise Fault(column, "is not a date and time such as 2026-01-31 23:59:59") from None
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise Fault(column, "is outside of the calendar") from None


def size(column: Column[Any]) -> int:
    """The characters that a column of text holds."""
    return cast(String, column.type).length or 0


def require_storable(table: Table, values: Mapping[str, Any]) -> None:
    """Raise `Fault` for a text that is too long for its column, or that PostgreSQL cannot store."""
    for name, value in values.items():
        if not isinstance(value, str):
            continue
        if not _is_unicode(value):
            raise Fault(name, NOT_UTF_8)
        if "\0" in value:
            raise Fault(name, NUL)
        if len(value) > (longest := size(table.c[name])):
            raise Fault(name, f"has more than {longest} characters")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a surrogate, which stands for a byte that is not UTF-8
        return False
    return True


# The login names that a dry run would have written.


class Seen:
    """Login names, in a temporary file."""

    def __init__(self) -> None:
        self._file = new_table("names (key TEXT PRIMARY KEY, value TEXT)")

    def add(self, names: Mapping[str, uuid.UUID]) -> None:
        """Add login names (key -> id of the user)."""
        rows = [(key, str(id_)) for key, id_ in names.items()]
        self._file.executemany("INSERT OR IGNORE INTO names VALUES (?, ?)", rows)

    def names(self, keys: Sequence[str]) -> dict[str, uuid.UUID]:
        """Those of the login names that are there: key -> id of the user."""
        query = "SELECT key, value FROM names WHERE key IN ({keys})"
        return {key: uuid.UUID(id_) for key, id_ in look_up(self._file, query, keys)}

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
