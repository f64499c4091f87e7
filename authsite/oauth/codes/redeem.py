"""Redeem an authorization code (RFC 6749, section 4.1.3; RFC 7636, section 4.6).

Everything is checked before the code is used up, so a request that is refused changes nothing. Only
a request that knows all of a used code counts as its second use: another client, or a person who
has seen the code but not its verifier, cannot end what the first use has begun.
"""

import hmac
from base64 import urlsafe_b64encode
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple, NoReturn
from uuid import UUID

from sqlalchemy import and_, bindparam, exists, select

from authsite.context import Context
from authsite.oauth import families, resources
from authsite.oauth.client_auth import AuthenticatedClient
from authsite.oauth.errors import InvalidCode, NotIssued
from authsite.oauth.issue import CodeGrant, issue_for_code
from authsite.oauth.models import UNVERIFIED_TYPES, Client, Family
from authsite.oauth.oidc import sign_ins
from authsite.oauth.tokens import TokenPair
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import event_values, recording_if
from authsite.platform.db import PreparedQuery, run_together
from authsite.platform.runtime import clock
from authsite.sign_in import facts, gate
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User, user_of

from . import text
from .bounds import bound_of, outlives_session
from .models import AuthorizationCode
from .terms import TERMS_COLUMNS, Terms, check_user


class Sent(NamedTuple):
    """What the client sends; an empty text counts as not sent."""

    code: str
    redirect_uri: str
    verifier: str
    resource: str = ""


class StoredCode(NamedTuple):
    """A row of `AuthorizationCode`; ``session_ends_at`` is None if its session is not there."""

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
    expires_at: datetime
    used_at: datetime | None
    session_ends_at: datetime | None
    terms: Terms


STORED_CODE = PreparedQuery(
    select(
        *(getattr(AuthorizationCode, name) for name in StoredCode._fields[:-2]),
        BrowserSession.expires_at.label("session_ends_at"),
        *TERMS_COLUMNS,
    )
    .join(Client, Client.id == AuthorizationCode.client_id)
    .outerjoin(User, user_of(AuthorizationCode))
    .outerjoin(
        BrowserSession,
        and_(
            BrowserSession.id == AuthorizationCode.session_id,
            BrowserSession.user_id == AuthorizationCode.user_id,
        ),
    )
    .where(AuthorizationCode.id == bindparam("code_id")),
    StoredCode,
)
RECORD_IF_REVOKED = recording_if(
    exists().where(
        Family.id == bindparam("family_id"),
        Family.revoked_at == bindparam("revoked_at", type_=Family.revoked_at.type),
        Family.revoked_why == bindparam("why", type_=Family.revoked_why.type),
    )
)
REUSED = "its code was reused"


def redeem(ctx: Context, client: AuthenticatedClient, sent: Sent) -> TokenPair:
    """The tokens for a code, with an ID token for the scope ``openid``.

    A second use revokes the tokens of the first one. Raises `InvalidCode`, which is counted in the
    limit `client-auth`; `ConfirmationRequired`, `GroupRequired`, `InvalidScope`,
    `InvalidTarget`, `SigningUnavailable`, `TooManyAttempts`, and what an account condition raises.
    """
    try:
        return _redeem(ctx, client, sent)
    except InvalidCode:
        ctx.limits.count("client-auth", str(client.id), ctx.limits.address)
        raise


def _redeem(ctx: Context, client: AuthenticatedClient, sent: Sent) -> TokenPair:
    code = _find_valid(ctx, client, sent)
    terms, account = code.terms, code.terms.account
    if account is None or code.session_ends_at is None:
        raise InvalidCode("its user was signed out")  # never: `_find_valid` has looked
    amr = facts.amr_of(code.facts)
    done = gate.carried_over(ctx, account, amr, code.auth_at, code.recognized)
    check_user(ctx.settings, account, terms, amr)
    signer = sign_ins.signer_for(ctx, terms, code.scope)
    granted = CodeGrant(
        id=code.id,
        scope=code.scope,
        session_id=code.session_id,
        facts=facts.pack(
            amr,
            audience=code.audience,
            third_party=not terms.first_party,
            client=terms.document_uri,
        ),
        bound=bound_of(terms.type, code.scope, clock.now(), code.session_ends_at),
        notes_use=terms.type in UNVERIFIED_TYPES,
    )
    try:
        pair = issue_for_code(ctx, client, done, granted)
    except NotIssued:
        _refuse_used(ctx, client, code.id)
    client_id = terms.document_uri or str(client.id)
    sign_in = sign_ins.SignIn(client_id, account, code.session_id, code.auth_at, amr, code.nonce)
    return signer.with_id_token(pair, sign_in)


def _find_valid(ctx: Context, client: AuthenticatedClient, sent: Sent) -> StoredCode:
    """The code that was sent; raises `InvalidCode`, and `InvalidTarget` for another resource."""
    values = text.decode_expired(ctx.services.keys, sent.code)
    if values is None:
        raise InvalidCode("it is not a code of this service")
    code = STORED_CODE.one(ctx.database, code_id=values.id)
    if code is None:
        raise InvalidCode("it expired long ago, or its user or client was deleted")
    if code.client_id != client.id:
        raise InvalidCode("it was issued to another client")
    if sent.redirect_uri and sent.redirect_uri != code.redirect_uri:
        raise InvalidCode("redirect_uri differs from that of the authorization request")
    _check_verifier(code.code_challenge, sent.verifier)
    resources.check_same(sent.resource, code.audience)
    if code.used_at is not None:
        _refuse_used(ctx, client, code.id)
    _check_valid(client, code)
    return code


def _check_verifier(challenge: str | None, verifier: str) -> None:
    if challenge is None:
        if verifier:  # the request may have lost its challenge on the way (RFC 9700, 4.8.2)
            raise InvalidCode("code_verifier was sent for a code without code_challenge")
    elif not verifier:
        raise InvalidCode("code_verifier is missing")
    elif not hmac.compare_digest(s256(verifier), challenge):
        raise InvalidCode("code_verifier does not belong to code_challenge")


def s256(verifier: str) -> str:
    """The code challenge of a verifier (RFC 7636, section 4.2)."""
    digest = sha256(verifier.encode(errors="surrogatepass")).digest()
    return urlsafe_b64encode(digest).decode().rstrip("=")


def _check_valid(client: AuthenticatedClient, code: StoredCode) -> None:
    now = clock.now()
    if code.expires_at <= now:
        raise InvalidCode("it has expired")
    if code.client_epoch != client.epoch:
        raise InvalidCode("the client was changed since")
    if code.terms.account is None:
        raise InvalidCode("the user was disabled, or all sign-ins of the user were ended")
    if code.session_ends_at is None:
        raise InvalidCode("the browser session was ended")
    if code.session_ends_at <= now and not outlives_session(code.scope):
        raise InvalidCode("the browser session has expired")


def _refuse_used(ctx: Context, client: AuthenticatedClient, code_id: UUID) -> NoReturn:
    """End the tokens of a code that was used before, if it was, and refuse it.

    It is recorded once. In separate transactions, since that of a refused request is rolled back.
    """
    code = STORED_CODE.one(ctx.database, code_id=code_id)
    if code is None or code.used_at is None:
        raise InvalidCode("the user, the client or the browser session was changed at this moment")
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
    raise InvalidCode("it was used before; its tokens are revoked")
