"""What a user has allowed an application: read, add to, withdraw and list it.

A client that asks for more than was allowed asks the user again. Clients of our own have consents
only if they became first-party later.
"""

import uuid
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    ForeignKey,
    Integer,
    Text,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    update,
)
from sqlalchemy.orm import Mapped, mapped_column

from authsite.oauth import resources
from authsite.oauth.codes.models import AuthorizationCode
from authsite.oauth.models import UNVERIFIED_TYPES, Client, Family
from authsite.oauth.scopes import OPENID_SCOPES, parse
from authsite.oauth.tokens.active import ACTIVE_FAMILIES
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import About, record, record_all
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.db.base import Base
from authsite.platform.db.prepared import columns_of
from authsite.platform.http.errors import NotFound
from authsite.platform.i18n import _
from authsite.platform.rate_limit import limit_subject
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings
from authsite.users import service as users

# Errors of connected applications.


class UnknownConsent(NotFound):
    summary = "The user has allowed no client with this id anything."
    message = _("This application has no access, or no longer has it. Get the list again.")


# What a scope allows, in words for the person who is asked.


OWN_WORDS = {
    "openid": _("Sign you in"),
    "profile": _("See your name and username"),
    "email": _("See your e-mail address"),
    "phone": _("See your phone number"),
    "groups": _("See which groups you are in"),
    "account": _("See and change your account"),
    "offline_access": _("Keep access after you sign out"),
}
"""The scopes of OpenID Connect (Core, section 5.4 and 11), and ours."""


def words_of(settings: Settings, scope: str) -> str:
    """What ``scope`` allows, for `translate`: the description in setting `scopes`, or our words.

    A scope without a description is its name.
    """
    return OWN_WORDS.get(scope) or settings.scopes.get(scope) or scope


# The table of consents.


class Consent(Base):
    """A user has allowed a client these scopes, also after tokens of it have ended.

    ``scope``: separated by blanks; without a maximum, since later requests add to it.
    ``resources``: the URIs of the resources that its page has named, in the same form.
    ``created_at``: when the user allowed something first; ``updated_at``: when more was allowed;
    ``used_at``: the last sign-in at the application.
    """

    __tablename__ = "consents"

    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True
    )
    client_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("clients.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    scope: Mapped[str] = mapped_column(Text)
    resources: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


NOTHING_ALLOWED = ("",)
"""What is missing when an application that asks for no scope was never allowed to sign the user
in."""
RECENT = timedelta(days=7)  # how long before a recovery an intruder may have allowed something
MAX_LISTED = 500  # administrators register clients: a user has consents to few of them
LIMIT = "authorize-user"
WITHDRAWN = "consent withdrawn"  # the column has 32 characters


class Allowed(NamedTuple):
    """What a consent allows; the columns of `Consent`."""

    scope: str
    resources: str | None


class UsedConsent(NamedTuple):
    """A consent whose use was noted."""

    client_id: UUID


class ListedConsent(NamedTuple):
    """A consent as lists show it, with the name of the client.

    ``document_uri``: the URL of the document that describes the client, if one does. ``set_up``:
    an administrator answers for the users (`authsite.oauth.consents.service`).
    """

    client_id: UUID
    name: str
    type: str
    document_uri: str | None
    set_up: bool
    scope: str
    resources: str | None
    created_at: datetime
    used_at: datetime | None

    @property
    def unverified(self) -> bool:
        """Whether no administrator has registered the client."""
        return self.type in UNVERIFIED_TYPES

    @property
    def document_host(self) -> str:
        """The host whose document describes the client; empty for all others."""
        return urlsplit(self.document_uri or "").netloc

    @property
    def scopes(self) -> list[str]:
        """The scopes that are allowed."""
        return parse(self.scope)

    @property
    def uris(self) -> list[str]:
        """The resources that the user was asked about, and has allowed."""
        return parse(self.resources or "")


ALLOWED = PreparedQuery(
    select(*columns_of(Consent, Allowed)).where(
        Consent.user_id == bindparam("user_id"), Consent.client_id == bindparam("client_id")
    ),
    Allowed,
)
NOTE_USE = PreparedQuery(
    update(Consent)
    .where(
        Consent.user_id == bindparam("of_user", type_=Consent.__table__.c.user_id.type),
        Consent.client_id == bindparam("of_client", type_=Consent.__table__.c.client_id.type),
    )
    .values(used_at=bindparam("now", type_=Consent.__table__.c.used_at.type))
    .returning(Consent.client_id),
    UsedConsent,
)
CONSENTS = PreparedQuery(
    select(
        Consent.client_id,
        Client.name,
        Client.type,
        Client.document_uri,
        Client.no_consent.label("set_up"),
        Consent.scope,
        Consent.resources,
        Consent.created_at,
        Consent.used_at,
    )
    .join(Client, Client.id == Consent.client_id)
    .where(Consent.user_id == bindparam("user_id"))
    .order_by(Consent.created_at.desc(), Consent.client_id)
    .limit(bindparam("most", type_=Integer))
    .offset(literal_column("0")),  # SQLite would get it as a value of the statement
    ListedConsent,
)


def missing(ctx: Context, user_id: UUID, client_id: UUID, scope: str) -> tuple[str, ...]:
    """The scopes of ``scope`` that the user has not allowed the client; empty if there are none.

    Of an application without a scope that was never allowed: `NOTHING_ALLOWED`. It is read outside
    of the request's transaction.
    """
    return _missing_scopes(ALLOWED.one(ctx.database, user_id=user_id, client_id=client_id), scope)


def is_missing(
    ctx: Context, user_id: UUID, client_id: UUID, scope: str, audience: str | None
) -> bool:
    """Whether the user has to be asked before the client gets ``scope`` for this resource.

    The resource has to be allowed, too: by a page that has named it, or by a scope that it has.
    The scopes of OpenID Connect, which every resource has, say nothing about it.
    """
    found = ALLOWED.one(ctx.database, user_id=user_id, client_id=client_id)
    if found is None or _missing_scopes(found, scope):
        return True
    if audience is None or audience in parse(found.resources or ""):
        return False
    resource = resources.find(ctx, audience)
    own = set(parse(resource.scopes)).difference(OPENID_SCOPES) if resource else set()
    return own.isdisjoint(parse(found.scope))


def _missing_scopes(found: Allowed | None, scope: str) -> tuple[str, ...]:
    if found is None:
        return tuple(parse(scope)) or NOTHING_ALLOWED
    allowed = parse(found.scope)
    return tuple(each for each in parse(scope) if each not in allowed)


def count(ctx: Context, user_id: UUID) -> None:
    """Count what the user allows, denies or withdraws, since each is a row of the audit trail.

    One request counts once. Call it before the request has written anything. Raises
    `TooManyAttempts`.
    """
    ctx.limits.count(LIMIT, limit_subject(user_id))


def give(
    ctx: Context, user_id: UUID, client_id: UUID, scope: str, audience: str | None = None
) -> None:
    """Allow a client ``scope``, and tokens for the resource, besides what it was allowed before.

    Recorded if it is more. The caller has counted it (`count`).
    """
    # So that of two requests neither writes over what the other one adds.
    users.lock(ctx.db, user_id)
    of_client = Consent.user_id == user_id, Consent.client_id == client_id
    row = ctx.db.execute(select(*columns_of(Consent, Allowed)).where(*of_client)).one_or_none()
    allowed, named = (parse(each or "") for each in row or ("", None))
    added = [each for each in parse(scope) if each not in allowed]
    new = [audience] if audience is not None and audience not in named else []
    if row is not None and not added and not new:
        return
    now = clock.now()
    values = {
        "scope": " ".join([*allowed, *added]),
        "resources": " ".join([*named, *new]) or None,
        "updated_at": now,
    }
    if row is None:
        of_both = {"user_id": user_id, "client_id": client_id, "created_at": now}
        ctx.db.execute(insert(Consent).values(**of_both, **values))
    else:
        ctx.db.execute(
            update(Consent)
            .where(*of_client)
            .values(values)
            .execution_options(synchronize_session=False)
        )
    details = {"scope": " ".join(added)}
    if new:
        details["resource"] = new[0]
    record(ctx, Event.CONSENT_GIVEN, user_id=user_id, client_id=client_id, details=details)


def noting_use(
    user_id: UUID, client_id: UUID, now: datetime
) -> tuple[PreparedQuery[UsedConsent], Mapping[str, object]]:
    """A query that notes a sign-in at a client, and locks the consent if there is still one.

    Run it together with the query that stores the code: then a consent that is withdrawn at the
    same time leaves no code behind. A client of our own may have no consent.
    """
    return NOTE_USE, {"of_user": user_id, "of_client": client_id, "now": now}


def note_use(ctx: Context, user_id: UUID, client_id: UUID) -> None:
    """As `noting_use`, in the transaction of ``ctx``."""
    ctx.db.execute(
        update(Consent)
        .where(Consent.user_id == user_id, Consent.client_id == client_id)
        .values(used_at=clock.now())
        .execution_options(synchronize_session=False)
    )


def list_of(ctx: Context, user_id: UUID) -> list[ListedConsent]:
    """The consents of a user, the newest first, read outside of the request's transaction.

    At most `MAX_LISTED`.
    """
    return CONSENTS.all(ctx.database, user_id=user_id, most=MAX_LISTED)


def withdraw(ctx: Context, user_id: UUID, client_id: UUID) -> bool:
    """Withdraw what the user has allowed a client, and end its tokens; whether there was a consent.

    Its token families of this user end, and codes that it has not redeemed yet. Raises
    `TooManyAttempts` (`count`).
    """
    count(ctx, user_id)
    return bool(_withdraw(ctx, user_id, Consent.client_id == client_id))


def withdraw_recent(ctx: Context, user_id: UUID) -> None:
    """Withdraw what third parties were allowed, or allowed more, in the last 7 days.

    For a recovered account: an intruder may have connected an application, which would be signed
    in again without a question as soon as the owner follows a link to it.
    """
    third_parties = select(Client.id).where(Client.first_party.is_(False))
    recent = Consent.updated_at >= clock.now() - RECENT
    _withdraw(ctx, user_id, recent, Consent.client_id.in_(third_parties))


def _withdraw(ctx: Context, user_id: UUID, *conditions: ColumnElement[bool]) -> list[UUID]:
    """Withdraw the consents of a user that fulfil the ``conditions``; their clients."""
    users.lock(ctx.db, user_id)
    clients = ctx.db.scalars(
        delete(Consent)
        .where(Consent.user_id == user_id, *conditions)
        .returning(Consent.client_id)
        .execution_options(synchronize_session=False)
    ).all()
    if clients:
        end_tokens(ctx, user_id, clients, WITHDRAWN)
    causes: list[About] = [{"user_id": user_id, "client_id": each} for each in clients]
    record_all(ctx, Event.CONSENT_WITHDRAWN, causes)
    return list(clients)


def end_tokens(ctx: Context, user_id: UUID, clients: Collection[UUID], why: str) -> None:
    """End what clients have of a user; ``why`` has at most 32 characters.

    The codes, then the families: a code that is being redeemed becomes a family.
    """
    ctx.db.execute(
        delete(AuthorizationCode)
        .where(
            AuthorizationCode.user_id == user_id,
            AuthorizationCode.client_id.in_(clients),
            AuthorizationCode.used_at.is_(None),
        )
        .execution_options(synchronize_session=False)
    )
    ended = ctx.db.execute(
        update(Family)
        .where(
            Family.user_id == user_id,
            Family.client_id.in_(clients),
            Family.revoked_at.is_(None),
        )
        .values(revoked_at=clock.now(), revoked_why=why)
        .returning(Family.id, Family.client_id)
        .execution_options(synchronize_session=False)
    ).all()
    causes: list[About] = [
        {
            "user_id": user_id,
            "client_id": row.client_id,
            "details": {"family": str(row.id), "why": why},
        }
        for row in ended
    ]
    record_all(ctx, Event.TOKEN_REVOKED, causes)


# The applications that an administrator has set up for the users, who are not asked.
#
# Such a client (``no_consent``) has no consent, but for what it asked for besides. The user sees
# it where the connected applications are, and can end its sign-ins.


ENDED = "ended by the user"  # the column has 32 characters


class SetUp(NamedTuple):
    """An application that has a sign-in of the user; ``used_at``: the last one, or refresh."""

    client_id: UUID
    name: str
    used_at: datetime


def list_set_up(ctx: Context, user_id: UUID) -> list[SetUp]:
    """Those that have the user signed in, or a consent of theirs, by name."""
    of_client = Client.no_consent.is_(True), Client.first_party.is_(False)
    signed_in = (
        ACTIVE_FAMILIES.with_only_columns(
            Client.id, Client.name, func.max(Family.rotated_at).label("used_at")
        )
        .where(
            Family.user_id == user_id,
            Family.refresh_expires_at > clock.now(),
            *of_client,
        )
        .group_by(Client.id, Client.name)
    )
    allowed = (
        select(Client.id, Client.name, func.coalesce(Consent.used_at, Consent.updated_at))
        .join(Consent, Consent.client_id == Client.id)
        .where(Consent.user_id == user_id, *of_client)
    )
    by_client = {
        row[0]: SetUp(*row) for row in [*ctx.db.execute(allowed), *ctx.db.execute(signed_in)]
    }
    return sorted(by_client.values(), key=lambda each: (each.name.casefold(), each.client_id))


def end_sign_ins(ctx: Context, user_id: UUID, client_id: UUID) -> None:
    """End the tokens of a client and a user, and what the user has allowed it besides."""
    withdraw(ctx, user_id, client_id)
    end_tokens(ctx, user_id, [client_id], ENDED)
