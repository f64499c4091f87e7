"""Errors of the pages on which a second factor is given."""

from authsite.platform.http.errors import ApiError, FieldError, ValidationFailed
from authsite.platform.i18n import _

from .names import MAIL_CODE, RECOVERY_CODE, TOTP

WRONG_PASSKEY = _("This passkey was not accepted. Try again, or use another way.")
_WRONG = {
    TOTP: _("This code is not right. Enter the one that the app shows now."),
    RECOVERY_CODE: _("This code is not right or was already used. Enter another one."),
    MAIL_CODE: _(
        "This code is not right, or it has expired. Enter the one from the latest e-mail."
    ),
}
_USED = {
    **_WRONG,
    TOTP: _("This code was used already. Wait until the app shows the next one, and enter that."),
}
_MISSING = {
    TOTP: _("Enter the 6-digit code from the app."),
    RECOVERY_CODE: _("Enter one of your recovery codes."),
    MAIL_CODE: _("Enter the code from the e-mail."),
}
_WRONG_PROOF = _("This was not accepted. Try again, or use another way.")


def words_of_used(method: str) -> str:
    """What to do after a code of this method that was used before."""
    return _USED.get(method, _WRONG_PROOF)


class WrongFactor(ValidationFailed):
    """The second proof was wrong: ``invalid_code``, ``code_used`` or ``invalid_credential``."""

    def __init__(self, method: str, code: str) -> None:
        """``method``: its name; ``code``: that of `Wrong`."""
        if code == "invalid_credential":
            wrong = FieldError(code, None, WRONG_PASSKEY)
        elif code == "code_used":
            wrong = FieldError(code, "code", words_of_used(method))
        else:
            wrong = FieldError(code, "code", _WRONG.get(method, _WRONG_PROOF))
        super().__init__(details=[wrong])


class FactorMissing(ValidationFailed):
    """The field of the second proof is empty."""

    def __init__(self, method: str) -> None:
        message = _MISSING.get(method)
        field = "code" if message else None
        super().__init__(details=[FieldError("required", field, message or WRONG_PASSKEY)])


class SignInEnded(ApiError):
    """The pending login has ended, or there is none in this browser."""

    status = 403
    code = "sign_in_ended"
    message = _("This took too long, or there were too many attempts. Sign in again.")
    listed = False
