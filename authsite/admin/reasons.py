"""The reason that an administrator gives for an action, which the audit trail keeps."""

from collections.abc import Sequence

from authsite.platform.audit.service import MAX_REASON, Cause
from authsite.platform.http.bodies import require_valid
from authsite.platform.http.errors import FieldError
from authsite.platform.i18n import _
from authsite.platform.runtime.lines import NotOneLine, one_line
from authsite.sign_in.fields import not_one_line

from .guard import Administrator

_MISSING = _("Give the reason: the audit trail keeps it.")
_TOO_LONG = _("This is too long. Shorten it.")


def cause(by: Administrator, reason: str | None, *, required: bool = False) -> Cause:
    """Who does it and why, for the event. A command needs no reason.

    Raises `ValidationFailed`: see `errors`. An action first asks whether the caller may act at all
    and whether the object is there. One with other fields has a function that returns their errors
    with those of the reason, so that one refusal names all of them.
    """
    require_valid(errors(by, reason, required=required))
    return by.cause(one_line((reason or "").strip()))


def errors(
    by: Administrator, reason: str | None, *, required: bool = False
) -> Sequence[FieldError]:
    """The error of a reason: required and missing, too long (`MAX_REASON`), or not one line."""
    try:
        text = one_line((reason or "").strip()) or ""
    except NotOneLine as error:
        return [FieldError("invalid", "reason", not_one_line(error))]
    if required and not text and by.kind != "command":
        return [FieldError("required", "reason", _MISSING)]
    if len(text) > MAX_REASON:
        return [FieldError("too_long", "reason", _TOO_LONG)]
    return ()
