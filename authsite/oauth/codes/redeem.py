"""Redeem an authorization code (RFC 6749, section 4.1.3; RFC 7636, section 4.6).

Everything is checked before the code is used up, so a request that is refused changes nothing. Only
a request that knows all of a used code counts as its second use: another client, or a person who
has seen the code but not its verifier, cannot end what the first use has begun.
"""

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import NamedTuple, NoReturn
from uuid import UUID

from sqlalchemy import and_, bindparam, exists, select

from authsite.oauth import resources
from authsite.oauth.clients import redirect_uris
from authsite.oauth.clients.authentication import AuthenticatedClient, is_public
from authsite.oauth.errors import ExpiredCode, InvalidCode, NotIssued
from authsite.oauth.models import UNVERIFIED_TYPES, Client, Family
from authsite.oauth.oidc import id_tokens
from authsite.oauth.reasons import DeviceReason, TokenReason
from authsite.oauth.tokens import families
from authsite.oauth.tokens.format import TokenPair
from authsite.oauth.tokens.issue import CheckedClient, CodeGrant, issue_for_code
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import event_values, recording_if
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery, run_together
from authsite.platform.db.prepared import columns_of
from authsite.platform.runtime import clock
from authsite.sign_in import credentials, gate
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User, user_of

from .models import AuthorizationCode
from .service import CODE, TERMS_COLUMNS, Terms, bound_of, check_user, outlives_session

# An authorization code as its row, read together with the client that sends it.
#
# The token endpoint authenticates the client first. For a code one query reads both: the rows are
# looked at in that order, and a request has one round trip to the database less.


_NO_CODE = UUID(int=0)


class StoredCode(NamedTuple):
    """A row of `AuthorizationCode`; ``session_ends_at`` is None if its session is not there.

    ``terms``: those of the client that sends the code. Compare ``client_id`` first.
    """

    id: UUID
    client_id: UUID
    client_epoch: int
    session_id: UUID
    redirect_uri: str
    code_challenge: str | None
    scope: str
    audience: str | None
    nonce: str | None
    facts: str | None
    auth_at: datetime
    recognized: datetime | None
    identity_id: UUID | None
    ends_at: datetime | None
    expires_at: datetime
    used_at: datetime | None
    session_ends_at: datetime | None
    terms: Terms


class _SecretHashes(NamedTuple):
    secret_hash: str
    previous_secret_hash: str | None


class ClientWithCode(NamedTuple):
    """An enabled client whose secret is not checked yet, and the code that it sends.

    The fields are those of `EnabledClient` and `AuthenticatedClient`. ``code``: None if there is no
    such code; it may be another client's.
    """

    secret_hash: str
    previous_secret_hash: str | None
    id: UUID
    name: str
    type: str
    scope: str
    default_scope: str
    epoch: int
    grant_types: str | None
    require_group: str | None
    default_resource: str | None
    code: StoredCode | None

    @property
    def client(self) -> AuthenticatedClient:
        """The client, once its secret is checked."""
        return AuthenticatedClient._make(self[len(_SecretHashes._fields) : -1])

    @property
    def public(self) -> bool:
        """See `EnabledClient`."""
        return is_public(self.type, self.secret_hash)


CLIENT_WITH_CODE = PreparedQuery(
    select(
        *columns_of(Client, _SecretHashes),
        *columns_of(Client, AuthenticatedClient),
        *(getattr(AuthorizationCode, name) for name in StoredCode._fields[:-2]),
        BrowserSession.expires_at.label("session_ends_at"),
        # Labels, since a column that is selected twice would be left out the second time.
        *(column.label(column.name) for column in TERMS_COLUMNS),
    )
    .select_from(Client)
    .outerjoin(AuthorizationCode, AuthorizationCode.id == bindparam("code_id"))
    .outerjoin(User, user_of(AuthorizationCode))
    .outerjoin(
        BrowserSession,
        and_(
            BrowserSession.id == AuthorizationCode.session_id,
            BrowserSession.user_id == AuthorizationCode.user_id,
        ),
    )
    .where(Client.id == bindparam("client_id"), Client.disabled_at.is_(None)),
    ClientWithCode,
)


def finder(ctx: Context, sent: str) -> Callable[..., ClientWithCode | None]:
    """What `identify` finds the client with, for a request that sends this text of a code.

    For a text that was never a code of this service the query is the same, and finds none.
    """
    values = CODE.decode_expired(ctx.services.keys, sent)
    code_id = values.id if values else _NO_CODE
    return partial(CLIENT_WITH_CODE.one, ctx.database, code_id=code_id)


class Sent(NamedTuple):
    """What the client sends beside the code; an empty text counts as not sent."""

    redirect_uri: str
    verifier: str
    resource: str = ""


RECORD_IF_REVOKED = recording_if(
    exists().where(
        Family.id == bindparam("family_id"),
        Family.revoked_at == bindparam("revoked_at", type_=Family.revoked_at.type),
        Family.revoked_why == bindparam("why", type_=Family.revoked_why.type),
    )
)
REUSED = "its code was reused"


def redeem(ctx: Context, found: ClientWithCode, sent: Sent) -> TokenPair:
    """The tokens for a code, with an ID token for the scope ``openid``.

    ``found``: the client, which has authenticated, and its code. A second use revokes the tokens of
    the first one. Raises `InvalidCode`, which is counted in the limit `client-auth`;
    `ConfirmationRequired`, `GroupRequired`, `InvalidScope`, `InvalidTarget`, `SigningUnavailable`,
    `TooManyAttempts`, and what an account condition raises.
    """
    with counting_failures(ctx, found.id):
        return _issue(ctx, found.client, _find_valid(ctx, found, sent))


def redeem_of_device(
    ctx: Context, client: AuthenticatedClient, code_id: UUID, resource: str
) -> TokenPair:
    """`redeem` for the code that a person has approved for a device; the caller counts failures.

    The caller has read the device code. Raises `ExpiredCode` if it was never used.
    """
    found = CLIENT_WITH_CODE.one(ctx.database, client_id=client.id, code_id=code_id)
    code = found.code if found else None
    if code is None or code.client_id != client.id:
        raise InvalidCode(DeviceReason.CODE_WITHDRAWN)
    if code.redirect_uri:
        raise InvalidCode(DeviceReason.CODE_OF_APPLICATION)
    _check_unchanged(ctx, client, code, resource)
    return _issue(ctx, client, code, to_device=True)


@contextmanager
def counting_failures(ctx: Context, client_id: UUID) -> Iterator[None]:
    """Count an `InvalidCode` in the limit `client-auth`; raises `TooManyAttempts` over it."""
    try:
        yield
    except InvalidCode:
        ctx.limits.count("client-auth", str(client_id), ctx.limits.address)
        raise


def _issue(
    ctx: Context, client: AuthenticatedClient, code: StoredCode, *, to_device: bool = False
) -> TokenPair:
    terms, account = code.terms, code.terms.account
    if account is None or code.session_ends_at is None:
        raise InvalidCode(TokenReason.CODE_USER_ENDED)  # never: `_find_valid` has looked
    amr = credentials.amr_of(code.facts)
    done = gate.carried_over(ctx, account, amr, code.auth_at, code.recognized)
    check_user(ctx.settings, account, terms, amr)
    signer = id_tokens.signer_for(ctx, terms, code.scope)
    granted = CodeGrant(
        id=code.id,
        scope=code.scope,
        session_id=code.session_id,
        audience=code.audience,
        facts=credentials.pack(
            amr,
            audience=code.audience,
            third_party=not terms.first_party,
            client=terms.document_uri,
        ),
        bound=bound_of(terms.type, code.scope, clock.now(), code.session_ends_at, code.ends_at),
        identity_id=code.identity_id,
        ends_at=code.ends_at,
        to_device=to_device,
        client_url=terms.document_uri,
        notes_use=terms.type in UNVERIFIED_TYPES,
    )
    try:
        pair = issue_for_code(ctx, client, done, granted)
    except NotIssued:
        _refuse_used(ctx, client, code.id)
    client_id = terms.document_uri or str(client.id)
    sign_in = id_tokens.SignIn(
        client_id, account, code.session_id, code.auth_at, amr, code.ends_at, code.nonce
    )
    return signer.with_id_token(pair, sign_in)


def _find_valid(ctx: Context, client: ClientWithCode, sent: Sent) -> StoredCode:
    """The code that was sent; raises `InvalidCode`, and `InvalidTarget` for another resource."""
    code = client.code
    if code is None:
        raise InvalidCode(TokenReason.CODE_UNKNOWN)
    if not code.redirect_uri:
        raise InvalidCode(TokenReason.CODE_OF_DEVICE)  # never: its text is another one
    if code.client_id != client.id:
        raise InvalidCode(TokenReason.CODE_OTHER_CLIENT)
    if not sent.redirect_uri and code.code_challenge is None:
        # Nothing else binds the code to who began the request (RFC 6749, sections 4.1.3 and 10.6).
        raise InvalidCode(TokenReason.CODE_REDIRECT_URI_MISSING, expected=code.redirect_uri)
    if sent.redirect_uri and sent.redirect_uri != code.redirect_uri:
        raise InvalidCode(
            TokenReason.CODE_REDIRECT_URI,
            sent=sent.redirect_uri,
            expected=code.redirect_uri,
            **redirect_uris.difference([code.redirect_uri], sent.redirect_uri, code.terms.type),
        )
    _check_verifier(code.code_challenge, sent.verifier)
    _check_unchanged(ctx, client, code, sent.resource)
    return code


def _check_unchanged(ctx: Context, client: CheckedClient, code: StoredCode, resource: str) -> None:
    resources.check_same(resource, code.audience)
    if code.used_at is not None:
        _refuse_used(ctx, client, code.id)
    _check_valid(client, code)


def _check_verifier(challenge: str | None, verifier: str) -> None:
    if challenge is None:
        if verifier:  # the request may have lost its challenge on the way (RFC 9700, 4.8.2)
            raise InvalidCode(TokenReason.VERIFIER_UNEXPECTED)
    elif not verifier:
        raise InvalidCode(TokenReason.VERIFIER_MISSING)
    elif not hmac.compare_digest(s256(verifier), challenge):
        raise InvalidCode(TokenReason.VERIFIER_WRONG)


def s256(verifier: str) -> str:
    """The code challenge of a verifier (RFC 7636, section 4.2)."""
    digest = sha256(verifier.encode(errors="surrogatepass")).digest()
    return urlsafe_b64encode(digest).decode().rstrip("=")


def _check_valid(client: CheckedClient, code: StoredCode) -> None:
    now = clock.now()
    if code.expires_at <= now:
        raise ExpiredCode(TokenReason.CODE_EXPIRED)
    if code.client_epoch != client.epoch:
        raise InvalidCode(TokenReason.CODE_CLIENT_CHANGED)
    if code.terms.account is None:
        raise InvalidCode(TokenReason.CODE_USER_ENDED)
    if code.session_ends_at is None:
        raise InvalidCode(TokenReason.CODE_SESSION_ENDED)
    if code.session_ends_at <= now and not outlives_session(code.scope):
        raise InvalidCode(TokenReason.CODE_SESSION_EXPIRED)
    if code.ends_at is not None and code.ends_at <= now:
        raise InvalidCode(TokenReason.CODE_PROVIDER_EXPIRED)


def _refuse_used(ctx: Context, client: CheckedClient, code_id: UUID) -> NoReturn:
    """End the tokens of a code that was used before, if it was, and refuse it.

    It is recorded once. In separate transactions, since that of a refused request is rolled back.
    """
    found = CLIENT_WITH_CODE.one(ctx.database, client_id=client.id, code_id=code_id)
    code = found.code if found else None
    if code is None or code.used_at is None:
        raise InvalidCode(TokenReason.CODE_RACE)
    account, now = code.terms.account, clock.now()
    event = event_values(
        ctx,
        Event.CODE_REUSED,
        user_id=account.id if account else None,
        client_id=client.id,
        details={"family": str(code_id)},
    )
    ended = {"family_id": code_id, "why": REUSED}
    run_together(
        ctx.database,
        (families.REVOKE, {**ended, "now": now}),
        (RECORD_IF_REVOKED, {**event, **ended, "revoked_at": now}),
    )
    raise InvalidCode(TokenReason.CODE_USED)
