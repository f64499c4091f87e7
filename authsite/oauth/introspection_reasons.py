"""Why a token is not active for the client that asks, or could not be revoked by it.

The client gets ``{"active": false}`` alone, or an empty answer (RFC 7662, section 2.2; RFC 7009,
section 2.2): these are for the operator.
"""

from uuid import UUID

from authsite.platform.denied_requests.reason import DenialReason, Texts
from authsite.platform.http.errors import ApiError

NOTHING = "The response does not say why. The operator of authsite learns it from authsite explain."
AGAIN = "Sign in to the application again."


class TokenStateReason(DenialReason):
    """Why a token is inactive at introspection, or nothing ends at revocation."""

    CONFIRMATION = Texts(
        "confirmation",
        "inactive",
        "The user has not confirmed the e-mail address, which the settings require.",
        "Confirm your e-mail address first.",
        NOTHING,
        200,
    )
    CONDITION = Texts(
        "condition",
        "inactive",
        "A refresh would be denied: by an account condition, or by the group or the confirmed "
        "address that the client requires.",
        AGAIN,
        NOTHING,
        200,
    )
    ENDED = Texts(
        "ended",
        "inactive",
        "The sign-in or token has ended or is unknown: signed out, revoked, or its user or client "
        "was disabled or deleted. `authsite token show` says more of a token that you have.",
        AGAIN,
        NOTHING,
        200,
    )
    FACTOR = Texts(
        "factor",
        "inactive",
        "The setting `second-factor` asks for a second factor, and the sign-in was without one.",
        AGAIN,
        NOTHING,
        200,
    )
    GRANT = Texts(
        "grant",
        "inactive",
        "It is a refresh token, and the grant types of the client do not have `refresh_token`.",
        AGAIN,
        NOTHING,
        200,
    )
    NOT_A_TOKEN = Texts(
        "not_a_token",
        "inactive",
        "It is no token of this installation, or has expired. `sent` says what it looks like.",
        AGAIN,
        NOTHING,
        200,
    )
    NOT_REVOCABLE = Texts(
        "not_revocable",
        "inactive",
        "The token to revoke has ended before, or was issued to another client.",
        "Nothing has changed. Sign out in the application.",
        NOTHING,
        200,
    )
    OTHER_CLIENT = Texts(
        "other_client",
        "inactive",
        "The token was issued to another client, in `expected`, and the one that asks is no "
        "resource server.",
        AGAIN,
        NOTHING,
        200,
    )
    OTHER_RESOURCE = Texts(
        "other_resource",
        "inactive",
        "The token is for the resource in `sent`, and the client that asks is not its server: "
        "`authsite resource list` shows whose it is, `authsite resource update --client` changes "
        "it.",
        AGAIN,
        NOTHING,
        200,
    )
    PERSONAL = Texts(
        "personal",
        "inactive",
        "It is a personal access token, and the client that asks is no resource server.",
        AGAIN,
        NOTHING,
        200,
    )
    REPLACED = Texts(
        "replaced",
        "inactive",
        "The sign-in was refreshed since and has newer tokens, or the refresh changed the scope.",
        AGAIN,
        NOTHING,
        200,
    )
    THIRD_PARTY = Texts(
        "third_party",
        "inactive",
        "The token is that of a third party's client and for no resource, so no resource server "
        "may know it. The client has to send `resource`, at /oauth/authorize too, or needs "
        "`--default-resource`.",
        AGAIN,
        NOTHING,
        200,
    )


class Inactive(ApiError):
    """The token is not active for the client that asks; ``why`` is for the operator alone.

    ``client_id``: of the client that asks, which has authenticated.
    """

    status = 200
    code = "inactive"
    message = NOTHING
    authenticated = True
    noted_by_task = True  # no statement more than for an active token

    def __init__(self, why: TokenStateReason, client_id: UUID | None = None, **shown: str) -> None:
        super().__init__()
        self.why, self.shown = why, shown
        self.client_id = client_id
