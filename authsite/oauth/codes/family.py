"""A token family that came from a code, as a refresh reads it."""

from contextlib import suppress
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, select

from authsite.oauth.errors import ConfirmationRequired, GroupRequired, InvalidGrant
from authsite.oauth.models import Client, Family
from authsite.oauth.oidc import id_tokens
from authsite.oauth.oidc.errors import SigningUnavailable
from authsite.oauth.reasons import TokenReason
from authsite.oauth.tokens.format import TokenPair
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.sign_in import credentials
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User, user_of

from .service import TERMS_COLUMNS, Terms, bound_of, check_user


class CodeFamily(NamedTuple):
    """Columns of `Family`; ``session_ends_at`` is None if the row of its session is gone."""

    client_id: UUID
    session_id: UUID
    granted_scope: str
    created_at: datetime
    refresh_expires_at: datetime
    facts: str | None
    auth_at: datetime
    ends_at: datetime | None
    session_ends_at: datetime | None
    terms: Terms

    @property
    def bound(self) -> datetime | None:
        """When the next tokens end at the latest; None for no bound.

        A session whose row is gone was deleted by the cleanup. Then the end of the present refresh
        token is all that is known of its end.
        """
        session_ends_at = self.session_ends_at or self.refresh_expires_at
        return bound_of(
            self.terms.type, self.granted_scope, self.created_at, session_ends_at, self.ends_at
        )


CODE_FAMILY = PreparedQuery(
    select(
        *(getattr(Family, name) for name in CodeFamily._fields[:-2]),
        BrowserSession.expires_at.label("session_ends_at"),
        *TERMS_COLUMNS,
    )
    .join(Client, Client.id == Family.client_id)
    .outerjoin(User, user_of(Family))
    .outerjoin(BrowserSession, BrowserSession.id == Family.session_id)
    .where(Family.id == bindparam("family_id"), Family.session_id.is_not(None)),
    CodeFamily,
)


class Refreshing(NamedTuple):
    """What a refresh needs to know of a family beside its tokens."""

    bound: datetime | None = None
    signer: id_tokens.Signer | None = None
    sign_in: id_tokens.SignIn | None = None

    def with_id_token(self, pair: TokenPair) -> TokenPair:
        """``pair`` with an ID token, if the family came from a code and has the scope ``openid``.

        It says of the sign-in what that of the code said (OpenID Connect Core 1.0, section 12.2).
        """
        if self.signer is None or self.sign_in is None:
            return pair
        return self.signer.with_id_token(pair, self.sign_in)


OTHER = Refreshing()  # a family that came from no code


def check(ctx: Context, family_id: UUID) -> Refreshing:
    """Check what the client requires of its users.

    While no key can sign, the answer has no ID token: it need not have one (OpenID Connect Core
    1.0, section 12.2), and the tokens go on. Raises `ConfirmationRequired`, `GroupRequired`, and
    `InvalidGrant` for a family that has ended.
    """
    family = CODE_FAMILY.one(ctx.database, family_id=family_id)
    if family is None or family.terms.account is None:
        raise InvalidGrant().because(TokenReason.REFRESH_ENDED)
    terms, account, amr = family.terms, family.terms.account, credentials.amr_of(family.facts)
    check_user(ctx.settings, account, terms, amr)
    signer: id_tokens.Signer | None = None
    with suppress(SigningUnavailable):
        signer = id_tokens.signer_for(ctx, terms, family.granted_scope)
    client_id = terms.document_uri or str(family.client_id)
    sign_in = id_tokens.SignIn(
        client_id, account, family.session_id, family.auth_at, amr, family.ends_at
    )
    return Refreshing(family.bound, signer, sign_in)


def is_denied(ctx: Context, family_id: UUID) -> bool:
    """Whether a refresh of this family would be denied by what the client requires."""
    family = CODE_FAMILY.one(ctx.database, family_id=family_id)
    if family is None or family.terms.account is None:
        return True
    try:
        amr = credentials.amr_of(family.facts)
        check_user(ctx.settings, family.terms.account, family.terms, amr)
    except (ConfirmationRequired, GroupRequired):
        return True
    return False
