"""Errors of invitations."""

from authsite.platform.http.errors import ApiError, FieldError, NotFound, ValidationFailed
from authsite.platform.i18n import _


class InvitationsClosed(ApiError):
    summary = "`registration` is `off`: no one may register, so no one is invited."
    status = 403
    code = "not_allowed"
    message = _(
        "No one may register here, not even by invitation. Set registration to invite, domains or"
        " on first."
    )


class UnknownInvitation(NotFound):
    """There is no open invitation with this id."""

    summary = "There is no open invitation with this id."
    message = _(
        "There is no open invitation with this id. It may have been accepted, revoked or expired."
        " Invite the person again."
    )


class UnknownInvitedGroup(ValidationFailed):
    """There is no group of this name."""

    def __init__(self) -> None:
        message = _("There is no group of this name. Choose one that exists, or leave it out.")
        super().__init__(details=[FieldError("invalid", "group", message)])


class InvalidInvitation(ValidationFailed):
    """The link is wrong, used, expired or revoked; the response is the same for all."""

    def __init__(self) -> None:
        message = _(
            "This invitation is no longer valid. Ask the person who invited you for a new one."
        )
        super().__init__(details=[FieldError("invalid_token", "token", message)])


class SignInToAccept(ApiError):
    """The invited address has an account, and its user is not signed in."""

    status = 403
    code = "not_allowed"
    message = _("There is an account with the invited address. Sign in to it to accept.")


class OwnersDecide(ApiError):
    """An administrator's groups are not changed by an invitation of a client, or by their own."""

    status = 403
    code = "outranked"
    message = _(
        "You are an administrator of this site, and this invitation is your own or one of an"
        " application. Ask an owner of this site to add you to the group."
    )


class ConfirmToAccept(ApiError):
    """The account with the invited address has not confirmed it."""

    status = 403
    code = "email_not_confirmed"
    message = _("Confirm your e-mail address first. Then open the invitation again.")
