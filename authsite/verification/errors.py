"""What can go wrong with proving an address."""

from authsite.http.errors import ApiError, FieldError
from authsite.oauth.errors import InvalidGrant
from authsite.texts import text as _

_CONFIRM = _("Confirm your e-mail address first: open the link in the mail, or ask for a new one.")


class InvalidSignature(ApiError):
    """The link was not signed here, or was changed, or is for an address that is gone."""

    status = 403
    code = "invalid_signature"
    message = _("This link is not valid. Ask for a new one.")


class ExpiredSignature(ApiError):
    """The link was good once."""

    status = 403
    code = "expired_signature"
    message = _("This link is out of date. Ask for a new one.")


class LoginNotConfirmed(InvalidGrant):
    """Variant B: the password was right, but the address is not confirmed yet."""

    def __init__(self) -> None:
        super().__init__(_CONFIRM, details=[FieldError("email_not_confirmed", None, _CONFIRM)])
