"""Why a guard lets a request not pass, for the log and ``authsite explain``.

A call without any token has no row: that is how a browser and a program begin.
"""

from authsite.platform.denied_requests.reason import FOR_PERSON, DenialReason, Texts
from authsite.platform.i18n import _

UNAUTHENTICATED = "An exception occurred when trying to authenticate the user."
AGAIN = "Sign in to the application again."


class GuardReason(DenialReason):
    """Why a guarded endpoint, such as userinfo, does not answer."""

    APPLICATION = Texts(
        "application",
        "login_required",
        "The token is that of a third party's application, or of a first-party one without the "
        "scope `account`, and the endpoint manages the account.",
        FOR_PERSON,
        "This application may not manage the account. Log in with an application of this service "
        "itself, or with a first-party application that asks for the scope account.",
        403,
    )
    CLIENT = Texts(
        "client",
        "client_required",
        "The token acts for a user, and the endpoint requires a client.",
        FOR_PERSON,
        "This endpoint needs a token of a client that acts for itself, and this one acts for a "
        "user. Get one with grant_type=client_credentials.",
        403,
    )
    GROUP = Texts(
        "group",
        "group_required",
        "The user is not in the group that the endpoint requires, or there is no user.",
        _(
            "This is only for the members of a group, and your account is not in it. Ask the "
            "people who run this site to add you."
        ),
        status=403,
    )
    LOGIN = Texts(
        "login",
        "login_required",
        "The token is a personal access token, and the endpoint requires that of a login.",
        FOR_PERSON,
        "A personal access token cannot be used here. Log in, and send the access token of that "
        "login.",
        403,
    )
    NO_TOKEN = Texts(
        "no_token",
        "unauthenticated",
        "the header Authorization has no bearer token",
        AGAIN,
        UNAUTHENTICATED,
        401,
    )
    NOT_ACTIVE = Texts(
        "not_active",
        "unauthenticated",
        "the access token was revoked or refreshed, or its user or client is disabled or gone",
        AGAIN,
        UNAUTHENTICATED,
        401,
    )
    NOT_VALID = Texts(
        "not_valid",
        "unauthenticated",
        "the access token is malformed, expired, or signed with another secret",
        AGAIN,
        UNAUTHENTICATED,
        401,
    )
    OTHER_AUDIENCE = Texts(
        "other_audience",
        "unauthenticated",
        "the access token is for another resource, or this resource needs one for itself",
        AGAIN,
        UNAUTHENTICATED,
        401,
    )
    SCOPE = Texts(
        "scope",
        "insufficient_scope",
        "The token lacks a scope that the endpoint needs: `sent` are those of the token. If the "
        "client may have it, it has to ask for it; else `authsite client update --scope`.",
        FOR_PERSON,
        "This endpoint needs a token with the scope ${expected}.",
        403,
    )
    SCOPE_UNNAMED = Texts(
        "scope_unnamed",
        "insufficient_scope",
        "The token is that of a third party, and the endpoint names no scope (`scope=`), so that "
        "no such application may call it.",
        FOR_PERSON,
        "This endpoint is not open to applications of third parties: it names no scope that they "
        "could have. Its operator has to name one.",
        403,
    )
