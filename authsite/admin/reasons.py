"""The reason that an administrator gives for an action, which the audit trail keeps."""

from authsite.platform.audit.cause import MAX_REASON, Cause
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.i18n import _
from authsite.platform.runtime.lines import NotOneLine, one_line
from authsite.sign_in.fields import not_one_line

from .administrator import Administrator

_MISSING = _("Give the reason: the audit trail keeps it.")
_TOO_LONG = _("This is too long. Shorten it.")


def cause(by: Administrator, reason: str | None, *, required: bool = False) -> Cause:
    """Who does it and why, for the event. A command needs no reason.

    Raises `ValidationFailed` for a reason that is required and missing, too long (`MAX_REASON`), or
    not one line.
    """
    try:
        text = one_line((reason or "").strip()) or ""
    except NotOneLine as error:
        details = [FieldError("invalid", "reason", not_one_line(error))]
        raise ValidationFailed(details=details) from None
    if required and not text and by.kind != "command":
        raise ValidationFailed(details=[FieldError("required", "reason", _MISSING)])
    if len(text) > MAX_REASON:
        raise ValidationFailed(details=[FieldError("too_long", "reason", _TOO_LONG)])
    return by.cause(text)
