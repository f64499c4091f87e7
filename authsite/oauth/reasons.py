"""Why the token endpoint, and the endpoints that authenticate clients as it does, deny a request.

The person never sees these responses: what support tells them is the text of the row.
"""

from authsite.platform.denied_requests.reason import FOR_PERSON, DenialReason, Texts
from authsite.platform.i18n import _
from authsite.sign_in.failure_reasons import FailureReason

GRANT, REQUEST = "invalid_grant", "invalid_request"
SIGN_IN_AGAIN = "Sign in to the application again."
SCOPE_TAKES_LEVEL = _(
    "What the application asks for takes a sign-in with a second factor. Add one on your account "
    "page, or a passkey, sign out, and sign in to the application with it."
)
NO_GROUP_GIVES = Texts(
    "scope_of_group",
    "invalid_scope",
    "No group of the user gives any of the scopes in `refused` at the level of the sign-in: "
    "`authsite group list` shows the groups and their scopes.",
    _(
        "Your account may not do what the application asks for. Ask the people who run this "
        "site for access."
    ),
    "No group of this user gives: ${refused}. The administrator of authsite decides who has "
    "these scopes.",
)
NOT_CLIENT = "Client authentication failed"
NOT_CODE = (
    "The authorization code is not valid: it was used before, has expired, or belongs to another "
    "request or client. Send the user to /oauth/authorize again."
)
NOT_DEVICE_CODE = (
    "The device code is not valid: it was used before, belongs to another client, or what it stood "
    "for has ended. Begin again at /v1/oauth/device."
)
NOT_REFRESHED = (
    "Wrong credentials, or the refresh token has expired or was revoked. Log in again to get new "
    "tokens."
)


class ClientReason(DenialReason):
    """Why a client is not authenticated. The client is told no difference."""

    BASIC_MALFORMED = Texts(
        "basic_malformed",
        "invalid_client",
        "the header Authorization: Basic is malformed",
        developer=NOT_CLIENT,
        status=401,
    )
    UNKNOWN = Texts(
        "unknown",
        "invalid_client",
        "no enabled client has this client_id",
        developer=NOT_CLIENT,
        status=401,
    )
    SECRET_MISSING = Texts(
        "secret_missing",
        "invalid_client",
        "no client_secret was sent",
        developer=NOT_CLIENT,
        status=401,
    )
    SECRET_WRONG = Texts(
        "secret_wrong",
        "invalid_client",
        "the client_secret is wrong",
        developer=NOT_CLIENT,
        status=401,
    )
    PUBLIC = Texts(
        "public",
        "invalid_client",
        "it is a public client, which sends no client_secret",
        developer=NOT_CLIENT,
        status=401,
    )
    PUBLIC_BASIC = Texts(
        "public_basic",
        "invalid_client",
        "it is a public client, which sends client_id in the body, and no HTTP Basic, also not one "
        "with an empty password",
        developer=NOT_CLIENT,
        status=401,
    )
    TWO_WAYS = Texts(
        "two_ways",
        REQUEST,
        "The request has credentials of the client by HTTP Basic and in the body.",
        developer="Send the client's credentials by HTTP Basic or in the body, not both.",
    )
    QUERY = Texts(
        "query",
        REQUEST,
        "The address of the request has a query, which logs record.",
        developer="Send all parameters in the form body; none may be in the query.",
    )


class TokenReason(DenialReason):
    """Why the token endpoint gives no tokens."""

    CODE_CLIENT_CHANGED = Texts(
        "code_client_changed", GRANT, "the client was changed since", SIGN_IN_AGAIN, NOT_CODE
    )
    CODE_EXPIRED = Texts("code_expired", GRANT, "it has expired", SIGN_IN_AGAIN, NOT_CODE)
    CODE_OF_DEVICE = Texts(
        "code_of_device", GRANT, "it is the code of a device", SIGN_IN_AGAIN, NOT_CODE
    )
    CODE_OTHER_CLIENT = Texts(
        "code_other_client", GRANT, "it was issued to another client", SIGN_IN_AGAIN, NOT_CODE
    )
    CODE_PROVIDER_EXPIRED = Texts(
        "code_provider_expired",
        GRANT,
        "its sign-in is older than session-expires-in of its provider",
        SIGN_IN_AGAIN,
        NOT_CODE,
    )
    CODE_RACE = Texts(
        "code_race",
        GRANT,
        "the user, the client or the browser session was changed at this moment",
        SIGN_IN_AGAIN,
        NOT_CODE,
    )
    CODE_REDIRECT_URI_MISSING = Texts(
        "code_redirect_uri_missing",
        GRANT,
        "redirect_uri is missing, and the authorization request had no code_challenge",
        FOR_PERSON,
        "Send the redirect_uri of the authorization request again, or use PKCE.",
    )
    CODE_REDIRECT_URI = Texts(
        "code_redirect_uri",
        GRANT,
        "redirect_uri differs from that of the authorization request",
        FOR_PERSON,
        "The redirect_uri is not that of the authorization request. Send the same text, or none.",
    )
    CODE_SESSION_ENDED = Texts(
        "code_session_ended", GRANT, "the browser session was ended", SIGN_IN_AGAIN, NOT_CODE
    )
    CODE_SESSION_EXPIRED = Texts(
        "code_session_expired", GRANT, "the browser session has expired", SIGN_IN_AGAIN, NOT_CODE
    )
    CODE_UNKNOWN = Texts(
        "code_unknown",
        GRANT,
        "it is not a code of this service, or it expired long ago, or its user was deleted",
        SIGN_IN_AGAIN,
        NOT_CODE,
    )
    CODE_USED = Texts(
        "code_used", GRANT, "it was used before; its tokens are revoked", SIGN_IN_AGAIN, NOT_CODE
    )
    CODE_USER_ENDED = Texts(
        "code_user_ended",
        GRANT,
        "the user was disabled, or all sign-ins of the user were ended",
        SIGN_IN_AGAIN,
        NOT_CODE,
    )
    CONFIRMATION = Texts(
        "confirmation",
        GRANT,
        "The client requires a confirmed e-mail address (`--require-confirmed`), and the user has "
        "none.",
        "Confirm your e-mail address first. Then go back to the application.",
        "This application is for users who have confirmed the e-mail address. Send the user to "
        "/oauth/authorize again.",
    )
    GRANT_NOT_ALLOWED = Texts(
        "grant_not_allowed",
        "unauthorized_client",
        "The client may not use this grant: `authsite client update --grant-types` changes it, as "
        "far as its type allows.",
        FOR_PERSON,
        "This type of client may not use this grant type.",
    )
    GRANT_UNKNOWN = Texts(
        "grant_unknown",
        "unsupported_grant_type",
        "There is no such grant, or the settings turn it off.",
        FOR_PERSON,
        "Use one of the grant types ${expected}.",
    )
    GROUP = Texts(
        "group",
        GRANT,
        "The user is not in the group that the client requires (`--require-group`).",
        FailureReason.GROUP_MISSING.person,
    )
    LOGIN = Texts(
        "login",
        GRANT,
        "The login failed: the event `login.failed` says why.",
        "The name or the password is not right, or the account cannot be used now.",
        NOT_REFRESHED,
    )
    LOGIN_ENDED = Texts(
        "login_ended",
        GRANT,
        "The `mfa_token` was used, has expired, was tried too often, or is for another client.",
        SIGN_IN_AGAIN,
        "This mfa_token is not valid: it was used, has expired, was tried too often, or is for "
        "another client. Log in again.",
    )
    METHOD = Texts(
        "mfa_method",
        REQUEST,
        "The `mfa_method` is not one that the login was answered with.",
        FOR_PERSON,
        "Send as mfa_method one of the mfa_methods that the login was answered with.",
    )
    PARAMETER_MISSING = Texts(
        "parameter_missing",
        REQUEST,
        "A parameter that the grant requires is missing or empty.",
        FOR_PERSON,
        "This grant type needs ${expected} in the form body.",
    )
    PASSKEYS_OFF = Texts(
        "passkeys_off",
        "unsupported_grant_type",
        "Passkeys are not available at this address: `authsite doctor` says why.",
        "Passkeys are not available here. Log in with the password.",
    )
    PROOF_MISSING = Texts(
        "proof_missing",
        REQUEST,
        "The parameter that this `mfa_method` reads is missing or empty.",
        FOR_PERSON,
        "Send ${expected} with this mfa_method.",
    )
    PROOF_WRONG = Texts(
        "proof_wrong",
        GRANT,
        "The further proof was wrong, or its enrollment has ended: the event `factor.failed` says "
        "more.",
        _("This code is not right. Enter a new one."),
    )
    RACE = Texts(
        "race",
        GRANT,
        "The user, the client or the sign-in was changed at this moment.",
        SIGN_IN_AGAIN,
        NOT_REFRESHED,
    )
    REFRESH_AHEAD = Texts(
        "refresh_ahead",
        GRANT,
        "The refresh token is newer than the database, which was restored from an older backup.",
        SIGN_IN_AGAIN,
        NOT_REFRESHED,
    )
    REFRESH_ENDED = Texts(
        "refresh_ended",
        GRANT,
        "The sign-in of the refresh token has ended: it was signed out or revoked, or its user or "
        "client was disabled, changed or deleted.",
        SIGN_IN_AGAIN,
        NOT_REFRESHED,
    )
    REFRESH_MALFORMED = Texts(
        "refresh_malformed",
        GRANT,
        "It is not a refresh token of this service, or has expired.",
        SIGN_IN_AGAIN,
        NOT_REFRESHED,
    )
    REFRESH_OTHER_CLIENT = Texts(
        "refresh_other_client",
        GRANT,
        "The refresh token was issued to another client.",
        SIGN_IN_AGAIN,
        NOT_REFRESHED,
    )
    REFRESH_RESOURCE = Texts(
        "refresh_resource",
        GRANT,
        "The resource of the sign-in was removed (`authsite resource list`).",
        SIGN_IN_AGAIN,
        NOT_REFRESHED,
    )
    REFRESH_REUSED = Texts(
        "refresh_reused",
        GRANT,
        "A used refresh token came again after `refresh-grace`: all tokens of the sign-in were "
        "revoked. Two processes of the application may share it, or it was stolen.",
        SIGN_IN_AGAIN,
        NOT_REFRESHED,
    )
    REFRESH_TOO_OLD = Texts(
        "refresh_too_old",
        GRANT,
        "The sign-in is older than `family-lifetime`.",
        SIGN_IN_AGAIN,
        NOT_REFRESHED,
    )
    SCOPE = Texts(
        "scope",
        "invalid_scope",
        "The scopes in `refused` are not the client's, are not known, or were not granted before. "
        "`authsite client update --scope` allows them. Scopes are separated by blanks.",
        FOR_PERSON,
        "Ask only for scopes that this client (or this refresh token) was granted, separated by "
        "blanks. Not granted: ${refused}. The administrator of authsite can allow them.",
    )
    SCOPE_OF_GROUP = NO_GROUP_GIVES
    SCOPE_OF_LEVEL = Texts(
        "scope_of_level",
        "invalid_scope",
        "A group of the user gives scopes in `refused`, but to a sign-in of the level `expected` "
        "alone. The user adds a second factor, or signs in with the one that is there.",
        SCOPE_TAKES_LEVEL,
        "A group of this user gives scopes of ${refused} to a sign-in of the level ${expected} "
        "alone: the user has to sign in with a second factor or a passkey.",
    )
    SECOND_FACTOR = Texts(
        "second_factor",
        GRANT,
        "The setting `second-factor` asks for a second factor, and this sign-in was without one.",
        _("A second factor is needed now. Sign in again to set it up."),
    )
    SIGNING = Texts(
        "signing",
        "temporarily_unavailable",
        "no signing key is usable",
        _(
            "Signing in to applications does not work now. Try again in a few minutes. If you run "
            "this site, “authsite doctor” shows the cause."
        ),
        "The service cannot sign ID tokens now. Try again in a minute.",
        503,
    )
    TARGET = Texts(
        "target",
        "invalid_target",
        "The resource in `sent` is not registered: see `authsite resource list`.",
        FOR_PERSON,
        "The resource ${sent} is not known here. Send the URI that is registered for it, character "
        "by character, or leave out resource.",
    )
    TARGET_LATE = Texts(
        "target_late",
        "invalid_target",
        "The request names the resource in `sent`, and the request that began the sign-in named "
        "none.",
        FOR_PERSON,
        "The resource is named here alone. Send it also at /oauth/authorize (or where the sign-in "
        "began), or leave it out.",
    )
    TARGET_OTHER = Texts(
        "target_other",
        "invalid_target",
        "The resource in `sent` is not the one that the sign-in is for.",
        FOR_PERSON,
        "The tokens are for another resource than ${sent}. Send the one of the sign-in, or leave "
        "out resource.",
    )
    VERIFIER_MISSING = Texts(
        "verifier_missing",
        GRANT,
        "code_verifier is missing",
        FOR_PERSON,
        "The parameter code_verifier is missing: the authorization request had a code_challenge.",
    )
    VERIFIER_UNEXPECTED = Texts(
        "verifier_unexpected",
        GRANT,
        "code_verifier was sent for a code without code_challenge",
        FOR_PERSON,
        "There is a code_verifier, and the authorization request had no code_challenge. Send both.",
    )
    VERIFIER_WRONG = Texts(
        "verifier_wrong",
        GRANT,
        "code_verifier does not belong to code_challenge",
        FOR_PERSON,
        "The code_verifier does not belong to the code_challenge of this code: BASE64URL(SHA256()) "
        "of it without = is another one (RFC 7636, section 4.6).",
    )


class DeviceReason(DenialReason):
    """Why a device gets no tokens, or a person's code is not taken (RFC 8628)."""

    ACCESS_DENIED = Texts(
        "access_denied",
        "access_denied",
        "The person did not allow the device to sign them in.",
        "You did not allow the device to sign you in. Begin again on it if you want to.",
        "The person did not allow this. Begin again only if they ask for it.",
    )
    CODE_CLIENT_CHANGED = Texts(
        "code_client_changed", GRANT, "the client was changed since", SIGN_IN_AGAIN, NOT_DEVICE_CODE
    )
    CODE_GONE = Texts(
        "code_gone",
        GRANT,
        "it expired long ago, or its user or client was deleted",
        SIGN_IN_AGAIN,
        NOT_DEVICE_CODE,
    )
    CODE_OF_APPLICATION = Texts(
        "code_of_application",
        GRANT,
        "it is not the code of a device",
        SIGN_IN_AGAIN,
        NOT_DEVICE_CODE,
    )
    CODE_OTHER_CLIENT = Texts(
        "code_other_client",
        GRANT,
        "it was issued to another client",
        SIGN_IN_AGAIN,
        NOT_DEVICE_CODE,
    )
    CODE_UNKNOWN = Texts(
        "code_unknown",
        GRANT,
        "it is not a device code of this service",
        SIGN_IN_AGAIN,
        NOT_DEVICE_CODE,
    )
    CODE_WITHDRAWN = Texts(
        "code_withdrawn",
        GRANT,
        "what the user allowed was withdrawn",
        SIGN_IN_AGAIN,
        NOT_DEVICE_CODE,
    )
    EXPIRED = Texts(
        "expired",
        "expired_token",
        "The device code has expired: no person has answered in time.",
        _("This code has expired. Begin again on the other device, and enter its new code."),
        "The device code has expired. Begin again at /v1/oauth/device, and show the new code.",
    )
    SLOW_DOWN = Texts(
        "slow_down",
        "slow_down",
        "The device asked too early: from now on its interval is 5 seconds longer.",
        FOR_PERSON,
        "You asked too early. From now on, wait 5 seconds longer between two requests.",
    )
    USER_CODE_ANSWERED = Texts(
        "user_code_answered",
        "invalid",
        "The code that the person entered was answered before.",
        _("This code was used before. Begin again on the other device, and enter its new code."),
        status=422,
    )
    USER_CODE_EXPIRED = Texts(
        "user_code_expired",
        "invalid",
        "The code that the person entered has expired, or its client was changed.",
        _("This code has expired. Begin again on the other device, and enter its new code."),
        status=422,
    )
    USER_CODE_WRONG = Texts(
        "user_code_wrong",
        "invalid",
        "No device has shown the code that the person entered.",
        _("This code is not right. Compare it with the one on the other screen."),
        status=422,
    )
