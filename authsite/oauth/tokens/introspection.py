"""Token introspection (RFC 7662): whether a token is active, and for whom it acts.

An access token is active exactly if the api guard would accept it on a route that names its scope,
or if it is for a resource and that resource's server or its own client asks. A refresh token is
active exactly if its client would get new tokens for it. Nothing is written, and every query is a
prepared one: for an access token there is one, which reads the client that asks as well, and for a
token for a resource another one, of that resource. A standby may answer it if the token is active.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, NotRequired
from uuid import UUID

from pydantic import Field
from typing_extensions import TypedDict

from authsite.oauth import resources
from authsite.oauth.clients import groups as client_groups
from authsite.oauth.clients.authentication import (
    ClientCredentials,
    authenticate_request,
    find_authenticated,
)
from authsite.oauth.codes import family as code_families
from authsite.oauth.errors import RESOURCE, InvalidGrant
from authsite.oauth.introspection_reasons import Inactive
from authsite.oauth.introspection_reasons import TokenStateReason as State
from authsite.oauth.models import RESOURCE_SERVER, Client, Family, PersonalToken, may_refresh
from authsite.oauth.oidc import access_tokens
from authsite.oauth.oidc.id_tokens import issuer_of
from authsite.oauth.reasons import TokenReason
from authsite.platform.context import Context
from authsite.platform.db.prepared import Reader
from authsite.platform.http.api_metadata import response_body
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings
from authsite.sign_in import credentials
from authsite.sign_in.credentials import unpack
from authsite.sign_in.factors.policy import is_met
from authsite.sign_in.gate import find_denial
from authsite.users.account import Account, acr_of, lacks_confirmation, proved_at, shown_amr
from authsite.users.groups import group_scopes, labels
from authsite.users.models import User

from . import active_personal, families
from .active import (
    ASKING_CLIENT,
    ActiveToken,
    AskingClient,
    has_factor,
    is_current,
    note_use,
    within_grace,
)
from .active_personal import ASKING_ABOUT_PERSONAL, AskingAboutPersonal
from .format import (
    ACCESS,
    PERSONAL_TOKEN,
    REFRESH,
    BearerToken,
    PersonalTokenValues,
    Token,
    decode,
    decode_expired,
    decode_personal_expired,
    family_limit,
    kind_of,
)
from .refresh import RefreshableFamily, find_refreshable, is_accepted

_NO_FAMILY = UUID(int=0)
_ID = "5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"


@response_body("Whether the token is active; the other fields only if it is (RFC 7662, 2.2).")
class IntrospectionAnswer(TypedDict):
    active: bool
    """Whether the token is accepted at this moment, and the client may know of it."""
    scope: NotRequired[Annotated[str, Field(examples=["notes:read"])]]
    """The scopes of the token, separated by spaces; may be empty."""
    client_id: NotRequired[Annotated[str, Field(examples=["6f9619ff-8b86-4d01-b42d-00cf4fc964ff"])]]
    """The client that the token was issued to: its id, or its URL if a document describes it.
    Absent for a personal access token."""
    token_type: NotRequired[Annotated[Literal["Bearer", "N_A"], Field(examples=["Bearer"])]]
    """`Bearer` for an access token; `N_A` for a refresh token, which no resource accepts."""
    exp: NotRequired[Annotated[int, Field(examples=[1767225600])]]
    """When the token expires, in seconds since 1970."""
    iat: NotRequired[Annotated[int, Field(examples=[1767222000])]]
    """When the token was issued, in seconds since 1970."""
    sub: NotRequired[Annotated[str, Field(examples=[_ID])]]
    """The id of the user, or of the client if the token acts for no user."""
    username: NotRequired[Annotated[str, Field(examples=["ann@example.com"])]]
    """The e-mail address of a user who has confirmed it; else absent. It may change: store `sub`
    instead."""
    email: NotRequired[Annotated[str, Field(examples=["ann@example.com"])]]
    """The e-mail address of the user. Without `email_verified` it may be another person's."""
    email_verified: NotRequired[bool]
    """Whether the user has confirmed the address."""
    groups: NotRequired[Annotated[list[str], Field(examples=[["finance", "ops"]])]]
    """The groups of the user that count at the level of the sign-in; absent if the token acts for
    no user."""
    acr: NotRequired[Annotated[str, Field(examples=["aal2"])]]
    """The level of the sign-in, `aal1`, `aal2` or `phr` (RFC 9470, 6.2); absent for a token of no
    sign-in."""
    amr: NotRequired[Annotated[list[str], Field(examples=[["pwd", "otp", "mfa"]])]]
    """How the user proved to be who they are (RFC 8176); absent for a token of no sign-in."""
    auth_time: NotRequired[Annotated[int, Field(examples=[1767222000])]]
    """When the user last did so, in seconds since 1970 (RFC 9470, 6.2); absent for a token of no
    sign-in."""
    aud: NotRequired[Annotated[str, Field(examples=[RESOURCE])]]
    """The resource that the token is for (RFC 8707): it must not be accepted by any other. Absent
    for a token that is for no resource."""
    iss: NotRequired[Annotated[str, Field(examples=["https://auth.example.com"])]]
    """The issuer, for a token that came from a code; else absent."""
    sid: NotRequired[Annotated[str, Field(examples=[_ID])]]
    """The browser session in which an application got the code of the token; else absent."""
    third_party: NotRequired[bool]
    """Whether the application is one of a third party: such a token means no more than its scopes
    say. Absent for a token that did not come from a code."""
    owner: NotRequired[Annotated[Literal["user", "client"], Field(examples=["user"])]]
    """Whether the token acts for a user or for the client itself."""


def introspect(ctx: Context, credentials: ClientCredentials, text: str) -> IntrospectionAnswer:
    """The state of a token, as the client that authenticates may know it.

    A client knows its own tokens; one of type ``resource-server`` knows the personal access tokens
    of all users, and the access tokens that `_may_know` allows. It never sees a refresh token as
    active: a resource that only reads ``active`` would accept it (RFC 7662, section 2.2, allows
    answers that differ by client). Raises `Inactive`, and the errors of `authenticate_request`.
    """
    now, keys = clock.now(), ctx.services.keys
    authenticate = partial(authenticate_request, ctx, credentials)
    access = access_tokens.decode_any(ctx.services, text, now)
    if access:
        standbys = ctx.services.standbys
        if standbys and (reading := standbys.reading()):
            by_standby = partial(find_authenticated, credentials)
            with suppress(Inactive):  # the standby may be behind
                return _introspect_access(ctx, access, text, now, reading, by_standby)
        return _introspect_access(ctx, access, text, now, ctx.database, authenticate)
    # The same query for a forged token, so that a client without its secret learns nothing.
    client = authenticate(partial(ASKING_CLIENT.one, ctx.database, family_id=_NO_FAMILY))
    if token := decode(keys, REFRESH, text, now):
        return _introspect_refresh(ctx, client, token, now)
    raise Inactive(State.NOT_A_TOKEN, client.id, sent=kind_of(text))


def _introspect_access(
    ctx: Context,
    token: Token | PersonalTokenValues,
    text: str,
    now: datetime,
    reader: Reader,
    authenticate: Callable[[Callable[..., Any]], Any],
) -> IntrospectionAnswer:
    """The state of an access token by what ``reader`` has. Raises `Inactive`.

    ``authenticate`` returns what the function that it gets has found for the client, or None.
    """
    if isinstance(token, PersonalTokenValues):
        find = partial(ASKING_ABOUT_PERSONAL.read, reader, token_id=token.id)
        asking: AskingAboutPersonal | None = authenticate(find)
        if asking is None:
            raise Inactive(State.ENDED)
        return _about_personal(ctx, asking, token, now)
    client: AskingClient | None = authenticate(
        partial(ASKING_CLIENT.read, reader, family_id=token.family_id)
    )
    if client is None:
        raise Inactive(State.ENDED)
    settings, is_jwt = ctx.settings, access_tokens.is_jwt(text)
    lifetime = settings.jwt_expires_in if is_jwt else settings.expires_in
    return _about_family(ctx, client, token, now, lifetime)


def _about_family(
    ctx: Context, client: AskingClient, token: Token, now: datetime, lifetime: timedelta
) -> IntrospectionAnswer:
    active = client.active
    if active is None:
        raise Inactive(State.ENDED, client.id)
    if not is_current(token, active, now, ctx.settings.refresh_grace):
        raise Inactive(State.REPLACED, client.id)
    _check_may_know(ctx, client, active)
    if lacks_confirmation(active.account, ctx.settings):
        raise Inactive(State.CONFIRMATION, client.id)
    if not has_factor(ctx.settings, token, active.account, active.facts, now):
        raise Inactive(State.FACTOR, client.id)
    # A resource asks because the token was sent to it.
    note_use(ctx.services.last_used, token, active, now)
    answer = _facts(ctx, token, active, client.session_id, lifetime)
    if active.client_id == client.id:
        _keep_what_was_allowed(answer, active.account, active.facts, active.scope)
    answer["token_type"], answer["scope"] = "Bearer", active.scope
    return answer


def _check_may_know(ctx: Context, client: AskingClient, active: ActiveToken) -> None:
    """Raise `Inactive` unless ``client`` may know that this access token is active.

    Its own client may. A resource server may unless the token is for another resource, or is that
    of a third party and for none: its user has allowed an application something at a resource, and
    not at every one.
    """
    if active.client_id == client.id:
        return
    other = str(active.client_id or "none")
    if client.type != RESOURCE_SERVER:
        raise Inactive(State.OTHER_CLIENT, client.id, expected=other)
    facts = unpack(active.facts)
    if facts.audience is None:
        if facts.third_party:
            raise Inactive(State.THIRD_PARTY, client.id, sent=f"token of client {other}")
        return
    resource = resources.find(ctx, facts.audience)
    if resource is None or resource.client_id != client.id:
        server = str(resource.client_id) if resource and resource.client_id else "none"
        raise Inactive(State.OTHER_RESOURCE, client.id, sent=facts.audience, expected=server)


def _about_personal(
    ctx: Context, asking: AskingAboutPersonal, token: PersonalTokenValues, now: datetime
) -> IntrospectionAnswer:
    active = asking.active
    if active is None or asking.created_at is None:
        raise Inactive(State.ENDED, asking.id)
    if asking.type != RESOURCE_SERVER:
        raise Inactive(State.PERSONAL, asking.id)
    if lacks_confirmation(active.account, ctx.settings):
        raise Inactive(State.CONFIRMATION, asking.id)
    active_personal.note_use(ctx.services.last_used, token, now)
    answer = _about_user(active.account, None, ctx.settings)
    answer["exp"], answer["iat"] = token.expires, int(asking.created_at.timestamp())
    answer["token_type"], answer["scope"] = "Bearer", active.scope
    return answer


def _introspect_refresh(
    ctx: Context, client: AskingClient, token: Token, now: datetime
) -> IntrospectionAnswer:
    """The token is active exactly if the client would get new tokens for it. Raises `Inactive`."""
    try:
        family, _resource = find_refreshable(ctx, token, client.id)
    except InvalidGrant as error:
        if error.why is TokenReason.REFRESH_OTHER_CLIENT:
            raise Inactive(State.OTHER_CLIENT, client.id, **error.shown) from None
        raise Inactive(State.ENDED, client.id) from None
    if not may_refresh(client.type, client.grant_types):
        raise Inactive(State.GRANT, client.id)
    if not is_accepted(ctx, token, family, now):
        raise Inactive(State.REPLACED, client.id)
    if family.account and _is_denied(ctx, family.account, family):
        raise Inactive(State.CONDITION, client.id)
    if not has_factor(ctx.settings, token, family.account, family.facts, now):
        raise Inactive(State.FACTOR, client.id)
    if family.session_id and code_families.is_denied(ctx, family.id):
        raise Inactive(State.CONDITION, client.id)
    answer = _facts(ctx, token, family, family.session_id, ctx.settings.refresh_expires_in)
    # Registered for a token that is not an access token (RFC 8693, section 2.2.1).
    account, scope, holder = family.account, family.granted_scope, family.holder
    # The scope that a refresh would give now: without scopes that no group of the user gives.
    scope = group_scopes.held(ctx, holder, scope) if holder else scope
    _keep_what_was_allowed(answer, account, family.facts, scope)
    answer["token_type"], answer["scope"] = "N_A", scope
    return answer


def _is_denied(ctx: Context, account: Account, family: RefreshableFamily) -> bool:
    allowed = client_groups.is_allowed(ctx.settings, account, family.require_group, family.acr)
    return not allowed or find_denial(ctx, account) is not None


def _keep_what_was_allowed(
    answer: IntrospectionAnswer, account: Account | None, facts: str | None, scope: str
) -> None:
    """Take out what the scopes of a third party's token do not name, for that third party.

    Its user has agreed to these data and to no others, whichever endpoint tells them. An address
    that is not confirmed is left out, as at the userinfo endpoint: an application would take it for
    the person.
    """
    if not unpack(facts).third_party:
        return
    scopes = scope.split()
    if "email" not in scopes or (account and not account.confirmed):
        for name in ("email", "email_verified", "username"):
            answer.pop(name, None)  # type: ignore[misc]
    if "groups" not in scopes:
        answer.pop("groups", None)


def _facts(
    ctx: Context,
    token: Token,
    family: ActiveToken | RefreshableFamily,
    session_id: UUID | None,
    lifetime: timedelta,
) -> IntrospectionAnswer:
    """What both kinds of token have in common; ``lifetime``: that of a new token of this kind."""
    issued = int(family.rotated_at.timestamp())
    if token.generation != family.generation:
        # Issued before the last refresh. The row no longer has the time; the expiry implies it,
        # or an earlier one if `family-lifetime` has shortened the token.
        issued = min(issued, token.expires - int(lifetime.total_seconds()))
    answer: IntrospectionAnswer = {"active": True, "exp": token.expires, "iat": issued}
    of_sign_in = unpack(family.facts)
    if family.client_id:
        answer["client_id"] = of_sign_in.client or str(family.client_id)
    if of_sign_in.audience is not None:
        answer["aud"] = of_sign_in.audience
    if of_sign_in.third_party is not None:
        answer["third_party"] = of_sign_in.third_party
    if session_id is not None:
        answer["sid"] = str(session_id)
        if ctx.settings.base_url:  # it may have been taken out of the settings since
            answer["iss"] = issuer_of(ctx.services)
    if family.account:
        amr, acr = of_sign_in.amr, acr_of(of_sign_in.amr)
        answer.update(_about_user(family.account, acr, ctx.settings))
        answer["acr"], answer["amr"] = acr, list(shown_amr(amr))
        if proved := proved_at(amr, family.auth_at):
            answer["auth_time"] = int(proved.timestamp())
    else:
        answer["sub"], answer["owner"] = str(family.client_id), "client"
    return answer


def _about_user(account: Account, acr: str | None, settings: Settings) -> IntrospectionAnswer:
    answer: IntrospectionAnswer = {
        "active": True,
        "sub": str(account.id),
        "owner": "user",
        "email": account.email,
        "email_verified": account.confirmed,
        "groups": list(labels.shown_to_others(account.labels, acr, settings)),
    }
    if account.confirmed:
        # Resource servers look their users up by this name. An address that is not confirmed may be
        # that of another person, whose account there the caller would open.
        answer["username"] = account.email
    return answer


# What a token is, for an administrator: whose, and whether it is active or why not.
#
# The state is read once, without the conditions of `oauth.active`, so that each can be named.


KINDS = {
    ACCESS: "access token",
    REFRESH: "refresh token",
    PERSONAL_TOKEN: "personal access token",
}
REVOKED_WHY = "revoked by an administrator"
_OWN, _SERVERS, _CLIENTS = "its own client", "resource servers", "all other clients"


class Inspected(NamedTuple):
    """A token that this installation has issued.

    ``row``: the family of the token, or the row of a personal access token. ``ended`` says why no
    token of this row is active any more, and ``reason`` why this one is not; both are None for an
    active token. ``known_to``: for whom an active token is.
    """

    kind: str
    expires_at: datetime
    row: Family | PersonalToken | None
    user: User | None
    client: Client | None
    ended: str | None
    reason: str | None
    known_to: "KnownTo"

    @property
    def audience(self) -> str | None:
        """The URI of the resource that the token is for (RFC 8707); None for any."""
        return credentials.unpack(self.row.facts).audience if isinstance(self.row, Family) else None


class KnownTo(NamedTuple):
    """For whom a token is active at introspection, and for whom it is not, with the reason."""

    active: tuple[str, ...] = ()
    inactive: tuple[tuple[str, str], ...] = ()


def inspect(ctx: Context, text: str) -> Inspected | None:
    """The state of the token ``text``; None if it is none of ours, or made with a lost secret."""
    kind, token = _decode(ctx, text)
    if token is None:
        return None
    row: Family | PersonalToken | None
    if isinstance(token, PersonalTokenValues):
        row = ctx.db.get(PersonalToken, token.id, populate_existing=True)
    else:
        row = ctx.db.get(Family, token.family_id, populate_existing=True)
    user = ctx.db.get(User, row.user_id) if row and row.user_id else None
    client = ctx.db.get(Client, row.client_id) if row and row.client_id else None
    ended = _why_ended(ctx, row, user, client)
    reason = ended or _why_inactive(ctx, kind, token, row, user)
    expires_at = datetime.fromtimestamp(token.expires, UTC)
    known_to = KnownTo() if reason or row is None else _known_to(ctx, kind, row)
    return Inspected(KINDS[kind], expires_at, row, user, client, ended, reason, known_to)


def revoke(ctx: Context, found: Inspected) -> None:
    """End the login that a token belongs to, or a personal access token; recorded.

    All tokens of a login end, as in `oauth.revocation`. Does nothing if they have ended already.
    """
    row = found.row
    if row is None or found.ended:
        return
    if isinstance(row, PersonalToken):
        active_personal.end(ctx, row.id, REVOKED_WHY, user_id=row.user_id)
    else:
        families.end(ctx, row.id, REVOKED_WHY, user_id=row.user_id, client_id=row.client_id)


def _known_to(ctx: Context, kind: str, row: Family | PersonalToken) -> KnownTo:
    """Who sees an active token as such: what `introspection` does, in words."""
    if isinstance(row, PersonalToken):
        return KnownTo((_SERVERS,), ((_CLIENTS, "only resource servers are sent such a token"),))
    if kind == REFRESH:
        return KnownTo((_OWN,), ((_SERVERS, "only its own client may use a refresh token"),))
    known = credentials.unpack(row.facts)
    if known.audience is None:
        if not known.third_party:
            return KnownTo((_OWN, _SERVERS))
        why = (
            "it is that of a third party, and for no resource: the client has to ask for one"
            " (`resource`), or to have a default (`authsite client update --default-resource`)"
        )
        return KnownTo((_OWN,), ((_SERVERS, why),))
    resource = resources.find(ctx, known.audience)
    if resource is None:
        why = f"{known.audience} is not registered any more (`authsite resource list`)"
        return KnownTo((_OWN,), ((_SERVERS, why),))
    if resource.client_id is None:
        why = f"{known.audience} has none (`authsite resource update --client`)"
        return KnownTo((_OWN,), ((_SERVERS, why),))
    server = f"the resource server {resource.client_id}"
    why = f"it is for {known.audience} alone"
    return KnownTo((_OWN, server), (("all other resource servers", why),))


def _decode(ctx: Context, text: str) -> tuple[str, BearerToken | None]:
    keys = ctx.services.keys
    if personal := decode_personal_expired(keys, text):
        return PERSONAL_TOKEN, personal
    for kind in (ACCESS, REFRESH):
        if token := decode_expired(keys, kind, text):
            return kind, token
    return ACCESS, access_tokens.decode(ctx.services, text)


def _why_ended(
    ctx: Context,
    row: Family | PersonalToken | None,
    user: User | None,
    client: Client | None,
) -> str | None:
    """Why no token of the row is active; None if one may be."""
    if row is None:
        return "its login is not in the database: it expired, or its user or client was deleted"
    if row.revoked_at:
        return f"revoked at {clock.rfc3339(row.revoked_at)}: {row.revoked_why}"
    if user and user.disabled_at:
        return f"the user was disabled at {clock.rfc3339(user.disabled_at)}"
    if user and user.epoch != row.user_epoch:
        return (
            "all sign-ins of the user were ended later (`authsite audit list --user` says when and "
            "why)"
        )
    if client and client.disabled_at:
        return f"the client was disabled at {clock.rfc3339(client.disabled_at)}"
    if client and client.epoch != row.client_epoch:
        return "all tokens of the client were ended later: it was disabled, or may ask for less"
    return None


def _why_inactive(
    ctx: Context,
    kind: str,
    token: BearerToken,
    row: Family | PersonalToken | None,
    user: User | None,
) -> str | None:
    """Why this token of a row is not active, though others may be."""
    if token.expires <= clock.now().timestamp():
        return "expired"
    if isinstance(row, Family) and isinstance(token, Token):
        found = _why_replaced(ctx, kind, token, row)
        if not found and kind == REFRESH:
            found = _why_not_refreshable(ctx, row)
        if found:
            return found
    if user and ctx.settings.confirmation_required and user.email_verified_at is None:
        return "the user has not confirmed the e-mail address"
    if (
        user
        and isinstance(row, Family)
        and not is_met(ctx.settings, credentials.amr_of(row.facts), clock.now())
    ):
        return "its sign-in has no second factor, which second-factor = required asks of everyone"
    return None


def _why_replaced(ctx: Context, kind: str, token: Token, family: Family) -> str | None:
    """Why a token is not of the present generation of its family; None if it is."""
    now = clock.now()
    behind = family.generation - token.generation
    in_grace = within_grace(now, family.rotated_at, ctx.settings.refresh_grace)
    rescoped = kind == ACCESS and family.rescoped
    if behind < 0:
        return "newer than its login in the database, which was restored from a backup"
    if behind > 1 or (behind == 1 and (rescoped or not in_grace)):
        return "replaced: its login was refreshed since, and has newer tokens"
    return None


def _why_not_refreshable(ctx: Context, family: Family) -> str | None:
    """Why a refresh token of the present generation gives no new tokens; None if it does."""
    limit = family_limit(family.created_at, ctx.settings)
    if limit and limit <= clock.now():
        return "its login is older than family-lifetime"
    client = ctx.db.get(Client, family.client_id) if family.client_id else None
    if client and not may_refresh(client.type, client.grant_types):
        return "the grant types of its client do not have refresh_token"
    return None
