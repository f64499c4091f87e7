"""Store an authorization code (RFC 6749, section 4.1.2)."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol, cast
from uuid import UUID, uuid4

from sqlalchemy import Connection, Table, bindparam, exists, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.expression import true

from authsite.oauth.clients import groups
from authsite.oauth.clients.registered import RegisteredClient
from authsite.oauth.consents import service as consents
from authsite.oauth.consents.service import Consent
from authsite.oauth.errors import ConfirmationRequired
from authsite.oauth.models import BROWSER, Client
from authsite.oauth.scopes import OFFLINE_ACCESS
from authsite.oauth.tokens.format import expiry
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import event_values, recording_if
from authsite.platform.context import Context
from authsite.platform.crypto.sealed import IdText, SealedId
from authsite.platform.db import PreparedQuery, run_together
from authsite.platform.db.batches import Batch, sweep_table
from authsite.platform.db.prepared import columns_of
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings
from authsite.users import account as levels
from authsite.users.account import ACCOUNT_COLUMNS, Account

from .models import AuthorizationCode

# The text of an authorization code: its sealed id, with the prefix ``ac_``.


CODE = SealedId("ac_", "authorization code")


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


# What of a client decides about the tokens that come from a code, and of its user.


class Terms(NamedTuple):
    """The columns of `Client`, and the user for whom it asks; None if that one may not sign in."""

    type: str
    first_party: bool
    require_confirmed: bool
    require_group: str | None
    id_token_alg: str | None
    id_token_lifetime: int | None
    claims_in_id_token: bool
    document_uri: str | None
    account: Account | None


TERMS_COLUMNS = (*columns_of(Client, Terms), *ACCOUNT_COLUMNS)


def check_user(settings: Settings, account: Account, terms: Terms, amr: tuple[str, ...]) -> None:
    """Check what the client requires of its users, at every request for tokens.

    Raises `ConfirmationRequired` and `GroupRequired`.
    """
    if terms.require_confirmed and not account.confirmed:
        raise ConfirmationRequired
    groups.check(settings, account, terms.require_group, levels.acr_of(amr))


# When the tokens end that come from a code: with the browser session, or after a day.


BROWSER_FAMILY = timedelta(hours=24)


def outlives_session(scope: str) -> bool:
    """Whether a family with this granted scope outlives its browser session."""
    return OFFLINE_ACCESS in scope.split()


def bound_of(
    client_type: str,
    granted_scope: str,
    created_at: datetime,
    session_ends_at: datetime,
    ends_at: datetime | None,
) -> datetime | None:
    """When the next tokens of a family end at the latest, beside what the settings say.

    None for no bound. ``session_ends_at``: when the browser session expires. ``ends_at``: the bound
    of the sign-in, which holds whatever the scope is. The tokens of an
    application in a browser, which has no secret and keeps them where scripts can read them, end a
    day after the family was created.
    """
    bounds = [] if ends_at is None else [ends_at]
    if not outlives_session(granted_scope):
        bounds.append(session_ends_at)
    if client_type == BROWSER:
        bounds.append(created_at + BROWSER_FAMILY)
    return min(bounds, default=None)


# Delete authorization codes a day after their end: until then a second use is noticed.


KEEP = timedelta(hours=24)


def purge(connection: Connection, now: datetime, cfg: Settings) -> Iterator[Batch]:
    """Delete codes that expired a day ago, used or not."""
    return sweep_table(connection, AuthorizationCode, AuthorizationCode.expires_at <= now - KEEP)
