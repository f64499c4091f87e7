"""What the rows of an import need to know of those before them.

An object that is here with the id of a row proves nothing: it may be another person's, or another
application's. So what hangs on a user or a client is taken only beside the row of that user or
client, and only if this run wrote it, or if it says when the present one was created.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from sqlalchemy import select

from authsite.platform.context import Context
from authsite.platform.http.errors import ApiError
from authsite.platform.runtime.ids import as_client_id, as_id
from authsite.users.groups.labels import PREFIX, GroupMember

from .report import PRESENT, Outcome, Result, refused
from .rows import Fault, Row, Seen, new_id, reported_id
from .temporary import look_up, new_table

USERS, CLIENTS, GROUPS = "users", "clients", "groups"  # the names of parts that others hang on
Draft = TypeVar("Draft")


class Owner(NamedTuple):
    """A user or client whose own row was taken; ``was_here``: before this run."""

    id: UUID
    was_here: bool


def _same_id(source_id: str) -> str:
    return str(as_id(source_id.lower()) or source_id)


def user_key(system: str) -> Callable[[str], str]:
    """What the id of a user in the source is compared by, in the rows of users and of others."""
    return lambda source_id: str(new_id(system, source_id))


def client_key(source_id: str) -> str:
    """What the id of a client in the source is compared by."""
    return str(as_client_id(source_id.lower()) or source_id)


class _Lines:
    """The first row of each id, by part, in a temporary file."""

    def __init__(self) -> None:
        self._file = new_table(
            "lines (part TEXT, key TEXT, row INTEGER, owner TEXT, PRIMARY KEY (part, key))"
        )

    def find(self, part: str, keys: Collection[str]) -> dict[str, tuple[int, str | None]]:
        """The number of the first row with each key, and what it is as an owner."""
        query = "SELECT key, row, owner FROM lines WHERE part = ? AND key IN ({keys})"
        return {key: (row, owner) for key, row, owner in look_up(self._file, query, keys, part)}

    def put(self, part: str, rows: Sequence[tuple[str, int, str | None]]) -> None:
        """Store the first rows of keys; a key that is there already is no longer an owner."""
        self._file.executemany(
            "INSERT INTO lines VALUES (?, ?, ?, ?)"
            " ON CONFLICT (part, key) DO UPDATE SET owner = NULL",
            [(part, *row) for row in rows],
        )

    def close(self) -> None:
        self._file.close()


@dataclass
class Before:
    """The rows of this run so far; ``seen`` is there in a dry run alone.

    A batch may be written several times before it is committed: what it has is kept by `commit`.
    """

    clients: dict[UUID, str] = field(default_factory=dict)
    """The types of the clients that were written, by id."""
    groups: set[str] = field(default_factory=set)
    seen: Seen | None = None
    _lines: _Lines = field(default_factory=_Lines)
    _batch: dict[str, int] = field(default_factory=dict)
    _twice: set[str] = field(default_factory=set)

    def drafts(
        self,
        part: str,
        rows: Sequence[Row],
        read: Callable[[Mapping[str, object]], Draft],
        outcomes: list[Outcome],
        *,
        key: Callable[[str], str] = _same_id,
        id_of: Callable[[Any], str] = lambda draft: draft.source_id,
        column: str = "id",
    ) -> list[tuple[Row, Draft]]:
        """The drafts of the rows of a batch; ``outcomes`` gets those that are refused.

        A second row of one id is refused, and what hangs on this id is left out: whose it is
        is not known. ``id_of``: the id of a draft; ``column``: where it is in a row that cannot
        be read; ``key``: what ids are compared by.
        """
        self._batch, self._twice = {}, set()
        read_rows: list[tuple[Row, Draft | Fault | ValueError, str | None]] = []
        for row in rows:
            try:
                if row.fault:
                    raise Fault(None, row.fault)
                draft = read(row.values)
                read_rows.append((row, draft, id_of(draft)))
            except (Fault, ValueError) as error:
                read_rows.append((row, error, reported_id(row.values, column)))
        keys = {id_: key(id_) for _row, _read, id_ in read_rows if id_}
        earlier = self._lines.find(part, set(keys.values()))
        good: list[tuple[Row, Draft]] = []
        for row, found, id_ in read_rows:
            first = self._first(keys[id_], row, earlier) if id_ else None
            if isinstance(found, Fault | ValueError):
                outcomes.append(refused(row, id_, found))
            elif first is not None:
                reason = f"an earlier row has the same {column}: {first}"
                outcomes.append(refused(row, id_, Fault(column, reason)))
            else:
                good.append((row, found))
        return good

    def _first(
        self, key: str, row: Row, earlier: Mapping[str, tuple[int, str | None]]
    ) -> int | None:
        """The number of an earlier row with the key; None for the first one, which is noted."""
        first = self._batch.get(key) or (earlier[key][0] if key in earlier else None)
        if first is None:
            self._batch[key] = row.number
        else:
            self._twice.add(key)
        return first

    def commit(self, part: str, outcomes: Sequence[Outcome]) -> None:
        """Keep what became of the rows of the batch that `drafts` has read."""
        owners = {each.row: each.owner for each in outcomes}
        self._lines.put(part, [(key, row, owners.get(row)) for key, row in self._batch.items()])
        self._lines.put(part, [(key, 0, None) for key in self._twice])
        self._batch, self._twice = {}, set()

    def users(self, ctx: Context, system: str, source_ids: Collection[str]) -> "Users":
        """Whose rows were taken, of the users with these ids in the source."""
        keys = {source_id: user_key(system)(source_id) for source_id in source_ids}
        found = self._lines.find(USERS, set(keys.values()))
        ids = [UUID(key) for key, (_row, owner) in found.items() if owner]
        members = select(GroupMember.user_id).where(
            GroupMember.user_id.in_(ids), GroupMember.group_name.startswith(PREFIX)
        )
        return Users(
            {
                source_id: Owner(UUID(key), found[key][1] == "present")
                for source_id, key in keys.items()
                if key in found and found[key][1]
            },
            set(ctx.db.scalars(members)),
        )

    def has_client(self, client_id: UUID) -> bool:
        """Whether the row of the client was taken."""
        found = self._lines.find(CLIENTS, [str(client_id)])
        return any(owner for _row, owner in found.values())

    def refused(self, part: str, key: str) -> bool:
        """Whether this run has read a row of this key, and did not take it."""
        return any(owner is None for _row, owner in self._lines.find(part, [key]).values())

    def close(self) -> None:
        """Remove the temporary file."""
        self._lines.close()


def take_each(
    before: Before,
    part: str,
    rows: Sequence[Row],
    read: Callable[[Mapping[str, object]], Draft],
    take: Callable[[Draft], Result],
    *,
    column: str,
    id_of: Callable[[Draft], str] = lambda _draft: "",
    key: Callable[[str], str] = str,
) -> list[Outcome]:
    """Write the rows of a batch one by one with ``take``; what became of every row.

    ``column``: what the report names a row by. ``id_of``: what no two rows may have in common; by
    default there is nothing.
    """
    outcomes: list[Outcome] = []
    drafts = before.drafts(part, rows, read, outcomes, key=key, id_of=id_of, column=column)
    for row, draft in drafts:
        source_id = reported_id(row.values, column)
        try:
            result = take(draft)
        except ApiError as error:
            detail = next(iter(error.details), None)
            fault = Fault(detail.field, detail.message) if detail else Fault(None, str(error))
            outcomes.append(refused(row, source_id, fault))
        except (Fault, ValueError) as error:
            outcomes.append(refused(row, source_id, error))
        else:
            reason = PRESENT if result == "present" else None
            outcomes.append(Outcome(row.number, source_id, None, result, None, reason))
    return sorted(outcomes, key=lambda outcome: outcome.row)


class Users(NamedTuple):
    """The owners of parts by their ids in the source, and which users are administrators."""

    owners: Mapping[str, Owner]
    administrators: Collection[UUID]

    def owner(self, source_id: str) -> Owner:
        """The user. Raises `Fault` for one to whom nothing is added."""
        owner = self.owners.get(source_id)
        if owner is None:
            raise Fault(
                "user_id",
                "is of no user of this source, or of one who was not imported, or whose row does"
                f" not say when the user who is here was created: {source_id}",
            )
        if owner.id in self.administrators:
            raise Fault(
                "user_id",
                f"is an administrator's ({PREFIX}…), to which no import adds anything: {source_id}",
            )
        return owner
