"""Why a request for a logout leads to no application (RP-Initiated Logout 1.0, section 4)."""

from collections.abc import Mapping
from uuid import UUID

from authsite.platform.denied_requests.reason import DenialReason, Texts
from authsite.platform.i18n import _

INVALID = "invalid_request"
_UNREADABLE = _("The request of the application is too long, or has a parameter more than once.")
_NOT_OURS = _("The application sent an ID token that is not from this site.")
_UNKNOWN = _(
    "The application is not registered here, or is not the one that you were signed in to."
)


class LogoutReason(DenialReason):
    """Why `/oauth/logout` leads to no application. The person can sign out all the same."""

    CLIENT_OTHER = Texts(
        "client_other",
        INVALID,
        "The parameter `client_id` is not the client that the ID token in `id_token_hint` is for: "
        "the application has mixed up two registrations.",
        _UNKNOWN,
        "The client_id is not the client that the id_token_hint is for. Send the one of both, or "
        "the id_token_hint alone.",
    )
    CLIENT_UNKNOWN = Texts(
        "client_unknown",
        INVALID,
        "There is no enabled client with this `client_id` of a type that signs people in.",
        _UNKNOWN,
        "No enabled client that signs people in has this client_id. Compare it with authsite "
        "client list.",
    )
    HINT = Texts(
        "hint",
        INVALID,
        "The parameter `id_token_hint` is not an ID token that this installation has signed.",
        _NOT_OURS,
        "The id_token_hint is not an ID token of this site. It may have expired, but must be one "
        "that the token endpoint has returned, and no access token.",
    )
    HINT_SESSION = Texts(
        "hint_session",
        INVALID,
        "The ID token in `id_token_hint` names no session: it is of no sign-in with a browser.",
        _NOT_OURS,
        "The id_token_hint names no session (sid). Send the ID token of a sign-in, or client_id.",
    )
    REPEATED = Texts(
        "repeated",
        INVALID,
        "A parameter is there more than once.",
        _UNREADABLE,
        "The parameter ${parameter} is there more than once. Send it once.",
    )
    TOO_LONG = Texts(
        "too_long",
        INVALID,
        "The request, or its `state`, is too long.",
        _UNREADABLE,
        "The request is too long. Expected: ${expected}.",
    )
    UNREADABLE = Texts(
        "unreadable",
        INVALID,
        "The query or the body is not UTF-8, or has more than 100 parameters.",
        _UNREADABLE,
        "The query or the body is not UTF-8, or has more than 100 parameters.",
    )
    URI = Texts(
        "uri",
        INVALID,
        "The parameter `post_logout_redirect_uri` is none of the client. If `sent` is right, "
        "register it with `authsite client update --post-logout-redirect-uri`; else correct the "
        "configuration of the application.",
        _("The application wants to send you to an address that is not registered for it."),
        "The post_logout_redirect_uri is not registered for this client. It is compared character "
        "by character. The operator of authsite can register it (authsite client update "
        "--post-logout-redirect-uri); authsite client doctor shows what differs.",
    )
    URI_UNCHECKED = Texts(
        "uri_unchecked",
        INVALID,
        "The request says neither `id_token_hint` nor `client_id`, so the address in `sent` cannot "
        "be checked, though it may be registered.",
        _(
            "The application wants to send you to another address, and does not say which "
            "application it is, so the address cannot be checked."
        ),
        "The request says neither id_token_hint nor client_id, so the address cannot be checked. "
        "Send one of them.",
    )


class LogoutRefused(Exception):
    """A request for a logout that leads to no application.

    ``shown``: what was sent and expected. ``client_id``: of the application, if it is known.
    """

    def __init__(
        self,
        reason: LogoutReason,
        shown: Mapping[str, str] | None = None,
        client_id: UUID | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason, self.shown, self.client_id = reason, dict(shown or {}), client_id
