"""Go on with a pending login of a client, and sign in by passkey."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID, uuid4

from authsite.oauth import client_groups, resources, scopes
from authsite.oauth.client_auth import AuthenticatedClient
from authsite.oauth.errors import GroupRequired, LoginFailed
from authsite.oauth.issue import issue
from authsite.oauth.resources import RegisteredResource
from authsite.oauth.tokens import TokenPair
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record_apart
from authsite.platform.context import Context
from authsite.platform.db import commit_session
from authsite.platform.http.errors import FieldError
from authsite.sign_in import gate, notices
from authsite.sign_in import pending as pending_logins
from authsite.sign_in.factors import enrolling
from authsite.sign_in.factors.errors import InvalidEnrollment
from authsite.sign_in.factors.names import PASSKEY, RECOVERY_CODE, TOTP
from authsite.sign_in.failure_reasons import FailureReason
from authsite.sign_in.gate import Complete
from authsite.sign_in.method import METHODS, Pending, Target, Wrong, words_of
from authsite.sign_in.methods.passkeys import assertion, challenges
from authsite.sign_in.methods.recovery_codes import codes
from authsite.users.levels import acr_of

from . import required
from .errors import (
    LoginEnded,
    MethodNotOffered,
    MissingProof,
    PasskeysOff,
    UnfitEnrollment,
    WrongProof,
    message_of_wrong,
)

PasskeyOptions: TypeAlias = dict[str, Any]
"""The JSON of `PublicKeyCredentialRequestOptions` (Web Authentication Level 3, section 5.5)."""


class Asked(NamedTuple):
    """What tokens a login asks for: the scope, within that of the resource, if there is one."""

    scope: str
    resource: RegisteredResource | None


def ask(
    ctx: Context, client: AuthenticatedClient, scope: str | None, resource: str | None
) -> Asked:
    """What a login of this client asks for. Raises `InvalidScope` and `InvalidTarget`."""
    allowed, default = map(scopes.without_openid, (client.scope, client.default_scope))
    chosen = scopes.choose(scope, allowed, default)
    found = resources.choose(ctx, resource, client.default_resource)
    return Asked(resources.scope_for(found, chosen), found)


def begin(
    ctx: Context,
    client: AuthenticatedClient,
    method: str,
    given: Mapping[str, str],
    asked: Asked,
    otp: str = "",
) -> TokenPair:
    """The token pair of a user who begins to sign in with ``method``.

    ``otp``: a code of the second factor, which is read if the first proof is right and needs one.
    Raises `LoginFailed` for a wrong proof, `MfaRequired` where another one is missing,
    `GroupRequired`, and what `gate.sign_in` and `issue` raise.
    """
    uri = asked.resource.uri if asked.resource else None
    target = Target(client.id, client.epoch, asked.scope, resource=uri)
    done = gate.sign_in(ctx, method, given, target)
    if isinstance(done, Pending):
        done = _with_otp(ctx, done, otp)
    if done is None:
        raise LoginFailed
    return complete(ctx, client, done, asked)


def go_on(
    ctx: Context,
    client: AuthenticatedClient,
    mfa_token: str,
    method: str,
    given: Mapping[str, str],
    resource: str | None = None,
) -> TokenPair:
    """The token pair of a user who gives a further proof, by ``method``.

    ``given``: what methods read: ``code``, ``credential`` and, for a factor that is added,
    ``enrollment``. The scope and the resource are those that the login began with; ``resource`` may
    repeat that. Raises `LoginEnded`, `MethodNotOffered`, `MissingProof`, `WrongProof`,
    `MfaRequired` where another proof is missing, and what `gate.resume` and `complete` raise.
    """
    pending = required.find(ctx, mfa_token, client.id)
    _check_method(ctx, pending, method, given)
    asked = _asked_before(ctx, client, pending, resource)
    recovery_codes: tuple[str, ...] = ()
    try:
        done = gate.resume(ctx, pending.key, method, given, client.id)
        if isinstance(done, Complete) and pending.adds_factor:
            done, made = enrolling.store_totp(ctx, pending, done, given)
            recovery_codes = made or ()
    except gate.PendingEnded:
        raise LoginEnded from None
    except InvalidEnrollment as error:
        raise UnfitEnrollment(error.details) from None
    if isinstance(done, Wrong):
        raise WrongProof(words_of(ctx, method), done.code, _field_of(method))
    if isinstance(done, Pending):
        raise required.answer(ctx, done)
    return complete(ctx, client, done, asked).with_codes(recovery_codes)


def complete(ctx: Context, client: AuthenticatedClient, done: Complete, asked: Asked) -> TokenPair:
    """Issue the tokens of a login. Raises `GroupRequired`, and what `issue` raises.

    What the login has used up is committed first, whatever becomes of the tokens.
    """
    if ctx.has_session:
        commit_session(ctx.db)
    group, acr = client.require_group, acr_of(done.amr)
    if not client_groups.is_allowed(ctx.settings, done.account, group, acr):
        record_apart(
            ctx,
            Event.LOGIN_FAILED,
            user_id=done.account.id,
            client_id=client.id,
            details={"reason": FailureReason.GROUP_MISSING},
        )
        raise GroupRequired
    family_id = uuid4()
    pair = issue(ctx, client, done, asked.scope, family_id, resource=asked.resource)
    if done.notify:
        notices.send_new_device(ctx, done.account, family_id)
    return pair


def require_passkeys(ctx: Context) -> None:
    """Raise `PasskeysOff` unless a sign-in can begin with a passkey."""
    method = METHODS.of(ctx.services).get(PASSKEY)
    if method is None or not method.offered(ctx, None):
        raise PasskeysOff


def passkey_options(ctx: Context, client_id: UUID) -> PasskeyOptions:
    """The options for a sign-in by passkey at this client. Raises `PasskeysOff`."""
    require_passkeys(ctx)
    options = assertion.options(ctx, challenges.of_client(client_id), None)
    if options is None:
        raise PasskeysOff
    return options


def _with_otp(ctx: Context, pending: Pending, otp: str) -> Complete:
    """Complete the login with ``otp``.

    Raises `MfaRequired` if it is wrong or is not asked for: then the pending login is stored.
    """
    method, wrong = _method_of_otp(otp, pending.methods), []
    if otp and method in pending.methods:
        done = gate.complete_at_once(ctx, pending, method, {"code": otp})
        if isinstance(done, Complete):
            return done
        wrong = [FieldError(done.code, "otp", message_of_wrong(words_of(ctx, method), done.code))]
    pending_logins.store(ctx, pending, failures=len(wrong))
    raise required.answer(ctx, pending, *wrong)


def _method_of_otp(otp: str, methods: Sequence[str]) -> str:
    """The method that reads ``otp``: a recovery code is known by its form.

    Without an authenticator app every other text is a wrong recovery code.
    """
    return RECOVERY_CODE if codes.read(otp) or TOTP not in methods else TOTP


def _field_of(method: str) -> str:
    return "credential" if method == PASSKEY else "code"


def _check_method(ctx: Context, pending: Pending, method: str, given: Mapping[str, str]) -> None:
    if method not in METHODS.of(ctx.services) or not gate.accepts(ctx, pending, method):
        raise MethodNotOffered
    if pending.adds_factor and method != TOTP:
        raise MethodNotOffered  # a passkey is added on our pages
    if not given.get(_field_of(method)):
        raise MissingProof(_field_of(method))


def _asked_before(
    ctx: Context, client: AuthenticatedClient, pending: Pending, resource: str | None
) -> Asked:
    """What the login asked for when it began, as far as the client may still have it."""
    stored = pending.target.resource
    resources.check_same(resource, stored)
    found = resources.choose(ctx, stored, None)
    allowed = set(scopes.without_openid(f"{client.scope} {client.default_scope}").split())
    scope = " ".join(each for each in scopes.parse(pending.target.scope or "") if each in allowed)
    return Asked(resources.scope_for(found, scope), found)
