"""Errors of the pages on which a second factor is given."""

from authsite.platform.http.errors import ApiError, FieldError, ValidationFailed
from authsite.platform.i18n import _
from authsite.sign_in.method import Words


class WrongFactor(ValidationFailed):
    """The second proof was wrong: ``invalid_code``, ``code_used`` or ``invalid_credential``."""

    def __init__(self, words: Words, code: str) -> None:
        """``words``: of the method; ``code``: that of `Wrong`."""
        super().__init__(details=[FieldError(code, _field(words), words.after(code))])


class FactorMissing(ValidationFailed):
    """The field of the second proof is empty."""

    def __init__(self, words: Words) -> None:
        """``words``: of the method."""
        message = words.missing or words.wrong
        super().__init__(details=[FieldError("required", _field(words), message)])


def _field(words: Words) -> str | None:
    return "code" if words.label else None


class SignInEnded(ApiError):
    """The pending login has ended, or there is none in this browser."""

    status = 403
    code = "sign_in_ended"
    message = _("This took too long, or there were too many attempts. Sign in again.")
    listed = False
