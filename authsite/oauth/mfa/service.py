"""Go on with a pending login of a client, and sign in by passkey."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID, uuid4

from authsite.oauth import resources, scopes
from authsite.oauth.clients import groups
from authsite.oauth.clients.authentication import AuthenticatedClient
from authsite.oauth.errors import GroupRequired, InvalidGrant, LoginFailed
from authsite.oauth.reasons import TokenReason
from authsite.oauth.resources import RegisteredResource
from authsite.oauth.tokens.format import TokenPair
from authsite.oauth.tokens.issue import issue
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record_apart
from authsite.platform.context import Context
from authsite.platform.db import commit_session
from authsite.platform.http.errors import ApiError, FieldError
from authsite.platform.i18n import _
from authsite.platform.runtime import clock
from authsite.sign_in import gate, notices
from authsite.sign_in import pending as pending_logins
from authsite.sign_in.factors import enrolling
from authsite.sign_in.factors.errors import InvalidEnrollment, NotOffered
from authsite.sign_in.factors.policy import PASSKEY, RECOVERY_CODE, TOTP
from authsite.sign_in.failure_reasons import FailureReason
from authsite.sign_in.gate import Complete, PendingEnded, find_pending
from authsite.sign_in.method import METHODS, Pending, Target, Words, Wrong, words_of
from authsite.sign_in.methods.mail_code import service as mail_code_service
from authsite.sign_in.methods.passkeys import assertion, registration
from authsite.sign_in.methods.recovery_codes import service as codes
from authsite.sign_in.methods.totp.enrollment import Enrollment
from authsite.users.account import acr_of

# Errors of logins that need a further proof.


REQUIRED = "mfa_required"


class MfaRequired(ApiError):
    """The first proof is right, and another one is missing; the pending login is committed."""

    summary = "The user's credentials are right, and a second step is needed: see `mfa_token`."
    status = 400
    code = REQUIRED
    message = _("Enter a code of your second factor, or use your passkey, to go on.")
    keeps_writes = True
    noted = False  # the login goes on

    def __init__(
        self, members: Mapping[str, Any] | None = None, *, details: Sequence[FieldError] = ()
    ) -> None:
        """``members``: those of the body; ``details``: the error of an `otp`, if one was sent."""
        super().__init__(_message_of(members or {}), details=details)
        self.members = dict(members or {})


class WrongProof(InvalidGrant):
    """A wrong code or passkey; what was counted is committed."""

    keeps_writes = True

    def __init__(self, words: Words, code: str, field: str) -> None:
        """``words``: of the method; ``code``: that of `Wrong`; ``field``: what had the proof."""
        self.why, self.shown = TokenReason.PROOF_WRONG, {"sent": code}
        message = message_of_wrong(words, code)
        super().__init__(message, details=[FieldError(code, field, message)])


class UnfitEnrollment(InvalidGrant):
    """The enrollment has expired, or is of another login; ``details``: those of the error."""

    why = TokenReason.PROOF_WRONG

    def __init__(self, details: Sequence[FieldError]) -> None:
        super().__init__(details[0].message, details=details)


class LoginEnded(InvalidGrant):
    """The pending login has ended, or was begun for another client."""

    why = TokenReason.LOGIN_ENDED
    message = why.developer


class PolicyNotMet(InvalidGrant):
    """Users need a second factor now, and this login was without one."""

    why = TokenReason.SECOND_FACTOR

    def __init__(self) -> None:
        text = self.why.person
        super().__init__(text, details=[FieldError(REQUIRED, None, text)])


class MethodNotOffered(ApiError):
    summary = "The login cannot go on with this `mfa_method`."
    status = 400
    code = "invalid_request"
    why = TokenReason.METHOD
    message = why.developer


class MissingProof(ApiError):
    """The parameter that this method reads is missing or empty."""

    status = 400
    code = "invalid_request"

    def __init__(self, name: str = "code") -> None:
        super().__init__()
        self.because(TokenReason.PROOF_MISSING, expected=name)


class NothingToEnroll(ApiError):
    summary = "The user is not to add a second factor at this login, or not by this way."
    status = 400
    code = "invalid_request"
    message = (
        "Call this only where the login was answered with mfa_enroll true; otherwise send one of "
        "its mfa_methods."
    )


class NoMailCode(ApiError):
    summary = "The login cannot go on with a mailed code."
    status = 400
    code = "invalid_request"
    message = "Call this only where email is among the mfa_methods of the login."


class PasskeysOff(ApiError):
    summary = "Passkeys are not available at this address."
    status = 400
    code = "unsupported_grant_type"
    why = TokenReason.PASSKEYS_OFF
    message = why.developer


def message_of_wrong(words: Words, code: str) -> str:
    """What to do after a wrong proof; ``words``: of the method, ``code``: that of `Wrong`."""
    if code == "invalid_code":  # an `otp` does not say which code it is
        return _("This code is not right. Enter a new one.")
    return words.after(code)


def _message_of(members: Mapping[str, Any]) -> str:
    if members.get("mfa_enroll"):
        return _("A second factor is needed here. Set one up to go on.")
    methods = members.get("mfa_methods")
    if methods is not None and not methods:
        return _("None of your second factors can be used here. Ask the people who run this site.")
    if methods == ["email"]:
        return _("Have a code sent to your e-mail address, and enter it to go on.")
    return MfaRequired.message


# What a client is told about a pending login, and the text of its token.


PREFIX: Final = "mt_"


def key_of(mfa_token: str) -> str | None:
    """The key of the pending login with this token; None for a text that is not such a token."""
    return mfa_token.removeprefix(PREFIX) if mfa_token.startswith(PREFIX) else None


def answer(ctx: Context, pending: Pending, *details: FieldError) -> MfaRequired:
    """The answer to raise for a pending login that is stored, and then committed.

    ``details``: the errors of what was sent.
    """
    left = pending.expires_at - clock.now() if pending.expires_at else pending_logins.LIFETIME
    members: dict[str, Any] = {
        "mfa_token": f"{PREFIX}{pending.key}",
        "expires_in": max(0, int(left.total_seconds())),
        "mfa_methods": list(pending.methods),
        "mfa_enroll": pending.adds_factor,
    }
    options = assertion.pending_options(ctx, pending) if PASSKEY in pending.methods else None
    if options:
        members["passkey_options"] = options
    return MfaRequired(members, details=details)


def find_of_client(ctx: Context, mfa_token: str) -> Pending:
    """The pending login with this token, of whichever client. Raises `LoginEnded`.

    Never one of a page, whose key is in a cookie.
    """
    key = key_of(mfa_token)
    found = pending_logins.find(ctx, key) if key else None
    if found is None or found.target.client_id is None:
        raise LoginEnded
    return found


def find(ctx: Context, mfa_token: str, client_id: UUID) -> Pending:
    """The pending login with this token, which this client has begun. Raises `LoginEnded`."""
    try:
        return find_pending(ctx, key_of(mfa_token), client_id)
    except PendingEnded:
        raise LoginEnded from None


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
    pending = find(ctx, mfa_token, client.id)
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
        raise answer(ctx, done)
    return complete(ctx, client, done, asked).with_codes(recovery_codes)


def complete(ctx: Context, client: AuthenticatedClient, done: Complete, asked: Asked) -> TokenPair:
    """Issue the tokens of a login. Raises `GroupRequired`, and what `issue` raises.

    What the login has used up is committed first, whatever becomes of the tokens.
    """
    if ctx.has_session:
        commit_session(ctx.db)
    group, acr = client.require_group, acr_of(done.amr)
    if not groups.is_allowed(ctx.settings, done.account, group, acr):
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
    options = assertion.options(ctx, registration.of_client(client_id), None)
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
    raise answer(ctx, pending, *wrong)


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


# Add an authenticator app at a login that must not go on without a second factor.


def begin_enrollment(ctx: Context, mfa_token: str) -> Enrollment:
    """A new secret for the user of a pending login. Raises `LoginEnded` and `NothingToEnroll`.

    It is stored with its first code, by `service.go_on`.
    """
    pending = find_of_client(ctx, mfa_token)
    try:
        return enrolling.begin_totp(ctx, pending)
    except (NotOffered, PendingEnded):
        raise NothingToEnroll from None


# Mail a code to the user of a pending login.


def send(ctx: Context, mfa_token: str) -> None:
    """Mail the code of the pending login; over the limits nothing is mailed.

    Raises `LoginEnded` and `NoMailCode`.
    """
    pending = find_of_client(ctx, mfa_token)
    if mail_code_service.NAME not in pending.methods:
        raise NoMailCode
    mail_code_service.send(ctx, pending)
