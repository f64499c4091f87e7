"""Errors of logins that need a further proof."""

from collections.abc import Mapping, Sequence
from typing import Any

from authsite.oauth.errors import InvalidGrant
from authsite.oauth.token_reasons import TokenReason
from authsite.platform.http.errors import ApiError, FieldError
from authsite.platform.i18n import _
from authsite.sign_in.method import Words

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
