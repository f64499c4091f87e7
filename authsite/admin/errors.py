"""Errors of administrators."""

from authsite.platform.http.errors import ApiError, NotFound
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
