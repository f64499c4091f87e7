"""The outbox as requests and operators use it: enqueue, list, retry and delete mails."""

import re
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, cast

from sqlalchemy import (
    Connection,
    CursorResult,
    Index,
    String,
    and_,
    case,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Mapped, Session, mapped_column

from authsite.platform.context import Context
from authsite.platform.db.base import Base, partial_index
from authsite.platform.db.batches import Batch, sweep_table
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings

# The outbox table.


State = Literal["waiting", "sent", "expired", "dead"]
MAX_ERROR = 200  # characters


class OutboxMessage(Base):
    """A mail to be sent: its kind, recipient and values; never its text, a link or a token.

    ``user_id`` has no foreign key: a row for an unknown address must cost as much as one for a
    user's address. `outbox.erase` deletes the rows of a user who is erased. A row ends as ``sent``,
    ``expired`` (its link has expired, or the mail is not needed any more) or ``dead``.
    """

    __tablename__ = "outbox"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column("letter", String(64))  # a name in the table of builders
    user_id: Mapped[uuid.UUID | None] = mapped_column(index=True)
    address: Mapped[str] = mapped_column(String(254))
    about_id: Mapped[uuid.UUID | None]  # the row that the mail is about; its builder reads it
    about_since: Mapped[datetime | None]  # when that began
    page_url: Mapped[str | None] = mapped_column(String(2048))
    base_url: Mapped[str | None] = mapped_column(String(2048))
    language: Mapped[str] = mapped_column(String(16))
    # The client address and user agent of the request, for the mails that name them.
    from_address: Mapped[str | None] = mapped_column(String(45))
    from_agent: Mapped[str | None] = mapped_column(String(200))
    expires_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    give_up_at: Mapped[datetime]
    state: Mapped[State] = mapped_column(String(8))
    delivery_attempts: Mapped[int] = mapped_column("attempts")
    next_attempt_at: Mapped[datetime]
    lease_until: Mapped[datetime | None]
    lease_owner: Mapped[str | None] = mapped_column(String(64))
    last_error: Mapped[str | None] = mapped_column(String(MAX_ERROR))
    ended_at: Mapped[datetime | None]


# A literal: with a bound parameter the partial index below could not be used.
WAITING = OutboxMessage.state == literal_column("'waiting'")

partial_index("ix_outbox_due", OutboxMessage.next_attempt_at, where=WAITING)
# The newest mails, also of one state, for administrators. The state is not first: SQLite would then
# take this index for what is due.
Index(None, OutboxMessage.created_at, OutboxMessage.id, OutboxMessage.state)

KEEP_TRYING = timedelta(hours=24)
KEEP = timedelta(days=7)  # to answer whether a mail was sent
KEEP_DEAD = timedelta(days=30)  # for `authsite mail retry`

# Exactly one address: no list, display name, comment or line end.
_ADDRESS = re.compile(r"[!#-'*+/-9=?A-Z^-~.-]{1,64}@[A-Za-z0-9._-]{1,253}")
_INSERT = insert(OutboxMessage)


class Recipient(NamedTuple):
    """The user and the address that a mail is sent to."""

    user_id: uuid.UUID | None
    address: str


# For a row that is never sent, written so that an unknown account costs the same.
NO_RECIPIENT = Recipient(None, "nobody@example.invalid")


class NewMail(NamedTuple):
    """A mail to enqueue; ``kind`` is the name of its builder."""

    kind: str
    recipient: Recipient
    about_id: uuid.UUID | None = None
    """The row that the mail is about."""
    about_since: datetime | None = None
    """When that began."""
    page_url: str | None = None
    """The page that the link in the mail leads to."""
    expires_at: datetime | None = None
    """The mail is dropped afterwards."""
    names_device: bool = False
    """Whether the mail tells the client address and the program of the request."""


def put(ctx: Context, mail: NewMail) -> uuid.UUID:
    """Enqueue ``mail``, sent after the commit; return its id.

    A later change of the user's address does not redirect the mail. Raises ValueError for a text
    that is not exactly one e-mail address.
    """
    values = _values(ctx, mail)
    ctx.db.execute(_INSERT, [values])
    id_: uuid.UUID = values["id"]
    return id_


def put_apart(ctx: Context, mail: NewMail) -> None:
    """`put` in a separate transaction, since that of a denied request is rolled back.

    On SQLite the caller must not hold the write lock.
    """
    with Session(ctx.database.autocommit) as db:
        db.execute(_INSERT, [_values(ctx, mail)])


def _values(ctx: Context, mail: NewMail) -> dict[str, Any]:
    recipient = mail.recipient
    if not _ADDRESS.fullmatch(recipient.address):
        raise ValueError("not one plain e-mail address; normalize it before it is stored")
    now, info = clock.now(), ctx.request_info
    return {
        "id": uuid.uuid4(),
        "kind": mail.kind,
        "user_id": recipient.user_id,
        "address": recipient.address,
        "about_id": mail.about_id,
        "about_since": mail.about_since,
        "page_url": mail.page_url,
        "base_url": info.base_url,
        "language": info.language,
        "from_address": info.address if mail.names_device else None,
        "from_agent": info.agent if mail.names_device else None,
        "expires_at": mail.expires_at,
        "created_at": now,
        "give_up_at": now + KEEP_TRYING,
        "state": "waiting",
        "delivery_attempts": 0,
        "next_attempt_at": now,
    }


class Found(NamedTuple):
    """Some of the mails that were looked for, and how many there are."""

    mails: Sequence[OutboxMessage]
    total: int


def search(db: Session, limit: int, *, email: str = "", dead: bool = False) -> Found:
    """Up to ``limit`` waiting and dead mails: the dead first, then the oldest.

    Only those whose address contains ``email``; with ``dead`` only dead ones.
    """
    conditions = [
        OutboxMessage.state.in_(("dead",) if dead else ("waiting", "dead")),
        func.lower(OutboxMessage.address).contains(email.lower(), autoescape=True),
    ]
    dead_first = case((OutboxMessage.state == "dead", 0), else_=1)
    query = (
        select(OutboxMessage)
        .where(*conditions)
        .order_by(dead_first, OutboxMessage.created_at, OutboxMessage.id)
        .limit(limit)
    )
    total = db.scalar(select(func.count()).select_from(OutboxMessage).where(*conditions)) or 0
    return Found(db.scalars(query).all(), total)


def has_sent(db: Session) -> bool:
    """Whether a mail was sent that is not purged yet: in the last seven days."""
    sent = select(OutboxMessage.id).where(OutboxMessage.state == "sent").limit(1)
    return db.scalar(sent) is not None


def hold_back(db: Session) -> int:
    """Make every waiting mail dead, since it may have been sent before; returns their number.

    For a restored backup. `retry` sends them.
    """
    held = (
        update(OutboxMessage)
        .where(WAITING)
        .values(
            state="dead",
            ended_at=clock.now(),
            lease_until=None,
            lease_owner=None,
            last_error="held back: a backup was restored, and the mail may have been sent before",
        )
    )
    done = db.execute(held, execution_options={"synchronize_session": False})
    return cast(CursorResult[Any], done).rowcount


class Changed(NamedTuple):
    """A mail whose state was changed."""

    id: uuid.UUID
    kind: str
    user_id: uuid.UUID | None


_CHANGED = (OutboxMessage.id, OutboxMessage.kind, OutboxMessage.user_id)


def retry(db: Session, id_: uuid.UUID | None = None) -> list[Changed]:
    """Make dead mails wait for another 24 hours: the one with this id, or all; which."""
    dead = update(OutboxMessage).where(OutboxMessage.state == "dead")
    now = clock.now()
    if id_ is not None:
        dead = dead.where(OutboxMessage.id == id_)
    revived = dead.values(
        state="waiting", next_attempt_at=now, give_up_at=now + KEEP_TRYING, ended_at=None
    ).returning(*_CHANGED)
    rows = db.execute(revived, execution_options={"synchronize_session": False})
    return [Changed(*row) for row in rows]


def cancel(db: Session, id_: uuid.UUID) -> Changed | None:
    """Drop a mail that waits or is dead; None if it is neither, or a sender works on it."""
    now = clock.now()
    free = or_(OutboxMessage.lease_until.is_(None), OutboxMessage.lease_until < now)
    dropped = (
        update(OutboxMessage)
        .where(
            OutboxMessage.id == id_,
            or_(and_(OutboxMessage.state == "waiting", free), OutboxMessage.state == "dead"),
        )
        .values(
            state="expired",
            ended_at=now,
            lease_until=None,
            lease_owner=None,
            last_error="canceled by an administrator",
        )
        .returning(*_CHANGED)
    )
    row = db.execute(dropped, execution_options={"synchronize_session": False}).first()
    return Changed(*row) if row else None


def latest(
    db: Session, state: State | None, limit: int, last: tuple[datetime, uuid.UUID] | None
) -> Sequence[OutboxMessage]:
    """Up to ``limit`` mails, the newest first, behind the time and id ``last``.

    ``state``: only these; the index has it, so that few of many are found without reading rows.
    """
    query = select(OutboxMessage)
    if state:
        query = query.where(OutboxMessage.state == state)
    if last:
        at, id_ = last
        behind = or_(OutboxMessage.created_at < at, OutboxMessage.id < id_)
        query = query.where(OutboxMessage.created_at <= at, behind)
    order = (OutboxMessage.created_at.desc(), OutboxMessage.id.desc())
    return db.scalars(query.order_by(*order).limit(limit)).all()


def erase(db: Session, user_id: uuid.UUID) -> None:
    """Delete all rows of a user, sent or not."""
    db.execute(
        delete(OutboxMessage)
        .where(OutboxMessage.user_id == user_id)
        .execution_options(synchronize_session=False)
    )


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete mails that were sent or dropped a week ago, or are dead since a month."""
    over = or_(
        and_(OutboxMessage.state.in_(("sent", "expired")), OutboxMessage.ended_at <= now - KEEP),
        and_(OutboxMessage.state == "dead", OutboxMessage.ended_at <= now - KEEP_DEAD),
    )
    return sweep_table(connection, OutboxMessage, over)


# Mails as objects, as API and commands print them: never a text, a link or a whole address.


def facts(item: OutboxMessage) -> dict[str, str | int | None]:
    """A mail; ``failed`` is one that waits for another try."""
    failed = item.state == "waiting" and item.delivery_attempts > 0
    waiting = item.state == "waiting"
    return {
        "id": str(item.id),
        "letter": item.kind,
        "to": shortened(item.address),
        "state": "failed" if failed else item.state,
        "attempts": item.delivery_attempts,
        "last_error": (without_address(item.address, item.last_error) if item.last_error else None),
        "next_attempt_at": clock.rfc3339(item.next_attempt_at) if waiting else None,
        "created_at": clock.rfc3339(item.created_at),
    }


def without_address(address: str, error: str) -> str:
    """The error of a mail server, which often repeats the address, without it."""
    return re.sub(re.escape(address), lambda _: shortened(address), error, flags=re.IGNORECASE)


def shortened(address: str) -> str:
    """The first character and the domain of ``address``: recognizable, but not usable."""
    local, _, domain = address.rpartition("@")
    return f"{local[:1]}…@{domain}"
