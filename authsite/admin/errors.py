"""Errors of administrators."""

from collections.abc import Sequence

from authsite.oauth.errors import InvalidValue
from authsite.platform.http.errors import ApiError, FieldError, NotFound, ValidationFailed
from authsite.platform.i18n import _


class Outranked(ApiError):
    """The user is an administrator who may do more than the caller, or is the caller."""

    summary = (
        "The user may do what the caller may not, or the change would be one of the caller's own"
        " groups, or a client would change an administrator."
    )
    status = 403
    code = "outranked"
    message = _(
        "This account may do more here than yours, or it is your own. Ask an owner of this site to"
        " do this."
    )


class PermissionMissing(ApiError):
    """The caller has not the scope that the page or the endpoint needs (RFC 6750, section 3.1)."""

    summary = "The caller has not the scope that the operation needs."
    status = 403
    code = "insufficient_scope"

    def __init__(self, scope: str = "admin:users:read") -> None:
        message = _(
            "This needs the permission ${scope}. Ask an owner of this site for it.",
            mapping={"scope": scope},
        )
        challenge = f'Bearer error="insufficient_scope", scope="{scope}"'
        super().__init__(message, headers={"WWW-Authenticate": challenge})


class InvalidCursor(ApiError):
    """The cursor is of another list or caller, or older than a day."""

    summary = "The cursor is of another list or caller, or older than a day."
    status = 400
    code = "invalid_cursor"
    message = _("This place in the list is not known any more. Begin with the first page again.")


class UnknownObject(NotFound):
    """There is no such user, client, mail or other object, or the caller may not see it."""

    summary = "There is no such object, or the caller may not see it."
    message = _("There is nothing with this id. It may have been deleted.")


class SearchTooWide(ApiError):
    """The search has taken longer than five seconds."""

    summary = "The search has taken longer than five seconds."
    status = 422
    code = "search_too_wide"
    message = _("This search finds too much. Add a filter, or more of the name.")


# Errors of clients as administrators see them.


class InvalidClient(ValidationFailed):
    """A client cannot have a value, or several."""

    summary = "A value is one that a client of this type cannot have."

    def __init__(self, *errors: InvalidValue) -> None:
        super().__init__("; ".join(map(str, errors)), details=field_errors(errors))


def field_errors(errors: Sequence[InvalidValue]) -> Sequence[FieldError]:
    """The errors of values as a request gets them."""
    return [FieldError("invalid", error.field, error.message) for error in errors]


class ClientInUse(ApiError):
    """A client that is enabled, or that something names, is not deleted."""

    summary = "The client is enabled, or a setting or a resource names it."
    status = 409
    code = "conflict"
    message = _("The app is enabled: disable it first.")

    def __init__(self, error: InvalidValue | None = None) -> None:
        """``error``: what names it; None where it is enabled."""
        super().__init__(error.message if error else None)


class OtherName(ValidationFailed):
    """The name that was typed as a confirmation is not the client's."""

    summary = "The name is not that of the client."

    def __init__(self) -> None:
        message = _("This is not the name of the app. Type it to delete the app.")
        super().__init__(details=[FieldError("invalid", "name", message)])


# Errors of groups that only a running application knows of.


class GroupNamed(ApiError):
    """Routes of the application are for the members of this group alone."""

    summary = "A route of the application is for the members of this group alone."
    status = 409
    code = "conflict"

    def __init__(self, name: str = "ops", routes: Sequence[str] = ("reports",)) -> None:
        super().__init__(
            _(
                "Only members of the group ${name} may use these routes of the application:"
                " ${routes}. Change the application first.",
                mapping={"name": name, "routes": ", ".join(routes)},
            )
        )


# Errors of mails.


class MailEnded(ApiError):
    """The mail was sent or dropped, or is being sent."""

    summary = "The mail was sent or dropped, or is being sent."
    status = 409
    code = "conflict"
    message = _(
        "This mail was sent or dropped already, or is being sent now. Load the list again to see"
        " what became of it."
    )


class SecurityNotice(ApiError):
    """A mail that tells users what happened to their accounts is never canceled."""

    summary = "The mail is a notice of security."
    status = 403
    code = "not_allowed"
    message = _(
        "This mail tells a user what happened to the account, and cannot be canceled. Only mails"
        " with a link or a code to use can be."
    )


# Errors of what administrators do with users.


class AccountChanged(ApiError):
    """A role is given to the account that the administrator has looked at."""

    summary = "The account has another address, or its sign-ins have ended, since it was shown."
    status = 409
    code = "conflict"
    message = _(
        "This account was changed since the page was opened: it may have another address now. Make "
        "sure whose account it is, and save again."
    )


class UserIsDisabled(ApiError):
    """The user is disabled, so that a mailed link would not work."""

    summary = "The user is disabled, so that a mailed link would not work."
    status = 409
    code = "conflict"
    message = _("This user is disabled, so a mailed link would not work. Enable the user first.")
