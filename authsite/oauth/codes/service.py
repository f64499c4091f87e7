"""Store an authorization code (RFC 6749, section 4.1.2)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol, cast
from uuid import UUID, uuid4

from sqlalchemy import Table, bindparam, exists, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.expression import true

from authsite.oauth.consents import service as consents
from authsite.oauth.consents.models import Consent
from authsite.oauth.registered import RegisteredClient
from authsite.oauth.tokens import expiry
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import event_values, recording_if
from authsite.platform.context import Context
from authsite.platform.crypto.sealed import IdText
from authsite.platform.db import PreparedQuery, run_together
from authsite.platform.runtime import clock

from .models import AuthorizationCode
from .text import CODE


class CheckedAccount(Protocol):
    """A user, with the epoch that was read with the session."""

    @property
    def id(self) -> UUID: ...
    @property
    def epoch(self) -> int: ...


class SignInFacts(NamedTuple):
    """The browser session in which a code is asked for; the columns of `BrowserSession`."""

    id: UUID
    facts: str | None
    auth_at: datetime
    recognized: datetime | None
    identity_id: UUID | None
    ends_at: datetime | None


class NewCode(NamedTuple):
    """What a user allows a client.

    ``scope`` and ``audience`` are granted already. ``redirect_uri``: where the code is sent.
    ``code_challenge``: by S256, None without PKCE. ``by_consent``: the user's stored consent allows
    it, without which there is no code.
    """

    client: RegisteredClient
    account: CheckedAccount
    session: SignInFacts
    redirect_uri: str
    code_challenge: str | None
    scope: str
    audience: str | None
    nonce: str | None
    by_consent: bool


class StoredCode(NamedTuple):
    """A code that was inserted."""

    id: UUID


CODES = cast(Table, AuthorizationCode.__table__)


def _store_query(*, with_consent: bool) -> PreparedQuery[StoredCode]:
    """INSERT … SELECT; ``with_consent``: if there is the consent whose use was just noted."""
    columns = [column for column in CODES.columns if column.name != "used_at"]
    new = {each.name: bindparam(f"new_{each.name}", type_=each.type) for each in columns}
    condition = (
        exists().where(
            Consent.user_id == new["user_id"],
            Consent.client_id == new["client_id"],
            Consent.used_at == new["created_at"],
        )
        if with_consent
        else true()
    )
    values = select(*new.values()).where(condition)
    return PreparedQuery(
        insert(CODES).from_select(columns, values).returning(CODES.c.id), StoredCode
    )


STORE = _store_query(with_consent=False)
STORE_WITH_CONSENT = _store_query(with_consent=True)
RECORD_IF_STORED = recording_if(exists().where(AuthorizationCode.id == bindparam("code_id")))


def store(ctx: Context, new: NewCode) -> str | None:
    """Store the code and record it, in one transaction, committed on return; the code's text.

    The use of the consent is noted: None if it has been withdrawn, and if the user or the client
    has been deleted.
    """
    now, code_id, client = clock.now(), uuid4(), new.client
    expires_at = expiry(now, ctx.settings.code_expires_in)
    row = _row(new, code_id, now, expires_at)
    values = {f"new_{name}": value for name, value in row.items()}
    details = {"scope": new.scope, "session": str(new.session.id)}
    if client.pkce_optional:  # for `authsite client doctor`
        details["code_challenge"] = "sent" if new.code_challenge else "none"
    event = event_values(
        ctx,
        Event.AUTHORIZATION_GRANTED,
        user_id=new.account.id,
        client_id=client.id,
        details=details,
    )
    queries: list[tuple[PreparedQuery[Any], Mapping[str, object]]] = [
        (STORE_WITH_CONSENT if new.by_consent else STORE, values),
        (RECORD_IF_STORED, {**event, "code_id": code_id}),
    ]
    if new.by_consent:
        queries.insert(0, consents.noting_use(new.account.id, client.id, now))
    try:
        stored = run_together(ctx.database, *queries)[1 if new.by_consent else 0]
    except IntegrityError:
        stored = None  # the row of the user or the client is gone
    if stored is None:
        return None
    code = IdText(code_id, int(expires_at.timestamp()))
    return CODE.encode(ctx.services.keys, code)


def add(ctx: Context, new: NewCode, code_id: UUID, expires_at: datetime) -> None:
    """Store a code with this id in the transaction of ``ctx``, for a device that has no redirect.

    Raises IntegrityError if the user or the client is gone.
    """
    ctx.db.execute(insert(CODES).values(_row(new, code_id, clock.now(), expires_at)))


def _row(
    new: NewCode, code_id: UUID, created_at: datetime, expires_at: datetime
) -> dict[str, object]:
    return {
        "id": code_id,
        "client_id": new.client.id,
        "client_epoch": new.client.epoch,
        "user_id": new.account.id,
        "user_epoch": new.account.epoch,
        "session_id": new.session.id,
        "redirect_uri": new.redirect_uri,
        "code_challenge": new.code_challenge,
        "scope": new.scope,
        "audience": new.audience,
        "nonce": new.nonce,
        "facts": new.session.facts,
        "auth_at": new.session.auth_at,
        "recognized": new.session.recognized,
        "identity_id": new.session.identity_id,
        "ends_at": new.session.ends_at,
        "created_at": created_at,
        "expires_at": expires_at,
    }
