"""Why an authorization request was refused: for the person, the application and operators.

A person sees our page, where there is no place to lead to; an application gets ``error`` and the
``error_description`` in the redirect (RFC 6749, section 4.1.2.1).
"""

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from authsite.oauth.clients.registered import RegisteredClient
from authsite.oauth.reasons import NO_GROUP_GIVES, SCOPE_TAKES_LEVEL
from authsite.platform.denied_requests.reason import FOR_PERSON, DenialReason, Texts
from authsite.platform.i18n import _

INVALID = "invalid_request"


class Reason(DenialReason):
    """Why a request was refused: the detail `reason` of `authorization.refused`.

    ``error``: the code of RFC 6749, section 4.1.2.1, of OpenID Connect Core 1.0, section 3.1.2.6,
    or of RFC 8707.
    """

    # Pages: without a client and a redirect URI there is no place to lead to.
    CLIENT_MISSING = Texts(
        "client_missing",
        INVALID,
        "The parameter `client_id` is missing.",
        _("The application did not say which application it is. Tell the people who run it."),
        "The parameter client_id is missing. Send the id that authsite client add has printed.",
    )
    CLIENT_UNKNOWN = Texts(
        "client_unknown",
        "unauthorized_client",
        (
            "There is no enabled client with this `client_id` of a type that signs people in "
            "(`server`, `browser` or `native`); or one that had registered itself was deleted, "
            "since it was not used for a day; or it is a URL whose host `client-id-documents` "
            "does not have."
        ),
        _("This application is not registered here. Tell the people who run it."),
        (
            "No enabled client that signs people in has this client_id. Compare it with authsite "
            "client list."
        ),
    )
    DOCUMENT_BUSY = Texts(
        "document_busy",
        "temporarily_unavailable",
        (
            "The document of the client was not fetched: as many are under way as may be at a "
            "time, or the request came in a frame, as an image or from a script."
        ),
        _("Too many people are signing in to new applications. Try again in a minute."),
        (
            "The document of the client was not fetched, since too many are fetched now. Try "
            "again in a minute."
        ),
        503,
    )
    DOCUMENT_INVALID = Texts(
        "document_invalid",
        INVALID,
        "The document at the `client_id` does not describe a client: `why` says what is wrong.",
        _(
            "The description of the application, which its own site gives, is not valid. Tell"
            " the people who run the application."
        ),
        "The document at the client_id does not describe a client: ${why}",
    )
    DOCUMENT_UNREACHABLE = Texts(
        "document_unreachable",
        INVALID,
        (
            "The document at the `client_id` could not be fetched: `why` says what happened. Only"
            " public addresses are asked, by https; no redirect is followed."
        ),
        _(
            "The site of the application does not answer us. Try again in a few minutes. If "
            "that does not help, tell the people who run the application."
        ),
        (
            "The document at the client_id could not be fetched by https from a public address, "
            "without a redirect: ${why}"
        ),
    )
    DOCUMENT_URL = Texts(
        "document_url",
        INVALID,
        "The `client_id` is a URL that cannot be one of a client: `why` says what is wrong.",
        _("The id of the application is not a valid address. Tell the people who run it."),
        "The client_id is a URL that cannot be that of a document: ${why}",
    )
    MALFORMED = Texts(
        "malformed",
        INVALID,
        "The query or the body is not UTF-8, has more than 100 parameters, or is not a form.",
        _("We cannot read the request of the application. Go back to it and begin again."),
        "The query or the body is not UTF-8, has more than 100 parameters, or is not a form.",
    )
    REDIRECT_URI_MISMATCH = Texts(
        "redirect_uri_mismatch",
        INVALID,
        (
            "The parameter `redirect_uri` is none of the client. If `sent` is right, register it "
            "with `authsite client update --redirect-uri`; else correct the configuration of the "
            "application."
        ),
        _(
            "The application wants to send you to an address that is not registered for it. "
            "Tell the people who run it."
        ),
        (
            "The redirect_uri is not registered for this client. It is compared character by "
            "character. The operator of authsite can register it (authsite client update "
            "--redirect-uri); authsite client doctor shows what differs."
        ),
    )
    REDIRECT_URI_MISSING = Texts(
        "redirect_uri_missing",
        INVALID,
        (
            "The parameter `redirect_uri` is missing. It may be left out only if the client has "
            "exactly one, and without the scope `openid`."
        ),
        _(
            "The application did not say where to send you after the sign-in. Tell the people"
            " who run it."
        ),
        (
            "The parameter redirect_uri is missing. Send one that is registered; only a client "
            "with exactly one may leave it out, and only without the scope openid."
        ),
    )
    REPEATED = Texts(
        "repeated",
        INVALID,
        "A parameter is there more than once (RFC 6749, section 3.1).",
        _(
            "The application sent the parameter ${parameter} more than once. Tell the people "
            "who run it."
        ),
        (
            "The application sent the parameter ${parameter} more than once. Send it once (RFC "
            "6749, section 3.1)."
        ),
    )
    TOO_OLD = Texts(
        "too_old",
        INVALID,
        "The stored request has ended: it was made more than 10 minutes ago.",
        _("The request of the application has expired. Go back to it and begin again."),
        "The request was made more than 10 minutes ago. Send a new one.",
    )

    # What the application is told.
    ACR_NOT_REACHABLE = Texts(
        "acr_not_reachable",
        "unmet_authentication_requirements",
        "The parameter `acr_values` asks for a level that no way to sign in gives.",
        FOR_PERSON,
        (
            "No way to sign in here reaches the level that acr_values asks for (${sent}). Ask for"
            " less."
        ),
    )
    CHALLENGE = Texts(
        "challenge",
        INVALID,
        "The parameter `code_challenge` is not 43 characters of base64url (RFC 7636).",
        FOR_PERSON,
        (
            "The code_challenge is not the base64url text of a SHA-256 hash (43 characters, "
            "without =). Compute it by S256."
        ),
    )
    CHALLENGE_METHOD = Texts(
        "challenge_method",
        INVALID,
        "The parameter `code_challenge_method` is missing, or is not `S256`.",
        FOR_PERSON,
        "Send code_challenge_method=S256. There is no other method here.",
    )
    CHALLENGE_MISSING = Texts(
        "challenge_missing",
        INVALID,
        (
            "The parameter `code_challenge` is missing. A client of the type `server` whose "
            "software cannot send it may have `--pkce optional`."
        ),
        FOR_PERSON,
        (
            "PKCE is required. Send code_challenge and code_challenge_method=S256; or the "
            "administrator of authsite may allow this application to do without: authsite client "
            "update --pkce optional."
        ),
    )
    CHALLENGE_MISSING_PUBLIC = Texts(
        "challenge_missing_public",
        INVALID,
        (
            "The parameter `code_challenge` is missing. A client without a secret cannot do "
            "without it."
        ),
        FOR_PERSON,
        (
            "PKCE is required. Send code_challenge and code_challenge_method=S256. A client "
            "without a secret cannot do without."
        ),
    )
    CHALLENGE_LOST = Texts(
        "challenge_lost",
        INVALID,
        (
            "The parameter `code_challenge_method` is there, and `code_challenge` is not: it was "
            "lost on the way."
        ),
        FOR_PERSON,
        "The request has code_challenge_method without code_challenge. Send both, or neither.",
    )
    HINT = Texts(
        "id_token_hint",
        INVALID,
        "The parameter `id_token_hint` is not an ID token that this installation has signed.",
        FOR_PERSON,
        "The id_token_hint is not an ID token of this site. Send one of ours, or none.",
    )
    INVALID_VALUE = Texts(
        "invalid_value",
        INVALID,
        "A parameter has a value that it cannot have.",
        FOR_PERSON,
        "The value of the parameter ${parameter} is malformed. Expected: ${expected}.",
    )
    VALUE_TOO_LONG = Texts(
        "value_too_long",
        INVALID,
        "A parameter is too long.",
        FOR_PERSON,
        "The value of the parameter ${parameter} is too long. Expected: ${expected}.",
    )
    PROMPT_NONE = Texts(
        "prompt_none",
        INVALID,
        "The parameter `prompt` has `none` and another value.",
        FOR_PERSON,
        "The value none of the parameter prompt excludes all others. Send it alone.",
    )
    REQUEST_OBJECT = Texts(
        "request_object",
        "request_not_supported",
        "The parameter `request` is not supported.",
        FOR_PERSON,
        "The parameter request is not supported. Send the parameters themselves.",
    )
    REQUEST_URI = Texts(
        "request_uri",
        "request_uri_not_supported",
        "The parameter `request_uri` is not supported.",
        FOR_PERSON,
        "The parameter request_uri is not supported. Send the parameters themselves.",
    )
    RESPONSE_MODE = Texts(
        "response_mode",
        INVALID,
        "The parameter `response_mode` is not `query`.",
        FOR_PERSON,
        "Leave response_mode out, or send response_mode=query.",
    )
    RESPONSE_TYPE = Texts(
        "response_type",
        "unsupported_response_type",
        "The parameter `response_type` is not `code`.",
        FOR_PERSON,
        "Send response_type=code. There is no other type here.",
    )
    RESPONSE_TYPE_MISSING = Texts(
        "response_type_missing",
        INVALID,
        "The parameter `response_type` is missing.",
        FOR_PERSON,
        "The parameter response_type is missing. Send response_type=code.",
    )
    SCOPE = Texts(
        "scope",
        "invalid_scope",
        (
            "The scopes in `refused` are not the client's, or, without `openid`, are not known. "
            "`authsite client update --scope` allows them."
        ),
        FOR_PERSON,
        (
            "This client may not have: ${refused}. Ask for less, or have the administrator of "
            "authsite allow it (authsite client update --scope)."
        ),
    )
    SCOPE_OF_GROUP = NO_GROUP_GIVES
    SCOPE_OF_LEVEL = Texts(
        "scope_of_level",
        "invalid_scope",
        "A group of the user gives scopes in `refused`, but to a sign-in of the level `expected` "
        "alone. The user adds a second factor, or signs in with the one that is there.",
        SCOPE_TAKES_LEVEL,
        "A group of this user gives scopes of ${refused} to a sign-in of the level ${expected} "
        "alone: ask for it with acr_values.",
    )
    TARGET = Texts(
        "resource",
        "invalid_target",
        "The parameter `resource` is not registered: see `authsite resource list`.",
        FOR_PERSON,
        (
            "The resource ${sent} is not known here. Send the URI that is registered for it "
            "(authsite resource list), character by character."
        ),
    )
    TOO_LONG = Texts(
        "too_long",
        INVALID,
        "The request is longer than 8 KiB.",
        FOR_PERSON,
        "The request is longer than 8 KiB. Send a shorter one.",
    )

    # What the state of the browser and the user decides.
    ADDRESS_NOT_CONFIRMED = Texts(
        "address_not_confirmed",
        "interaction_required",
        (
            "With `prompt=none`: the e-mail address of the user is not confirmed, which the "
            "settings or the client require."
        ),
        _("Confirm your e-mail address first. Then go back to the application."),
        "The user has to confirm the e-mail address. Send the request without prompt=none.",
    )
    CHOICE_NEEDED = Texts(
        "choice_needed",
        "account_selection_required",
        "With `prompt=none`: the user has to choose an account.",
        _("Go back to the application and sign in again."),
        "The user has to choose an account. Send the request without prompt=none.",
    )
    CONSENT_NEEDED = Texts(
        "consent_needed",
        "consent_required",
        (
            "With `prompt=none`: the user has not allowed the client what it asks for, or the "
            "answer goes to a program on the user's computer, which needs a press each time."
        ),
        _("Go back to the application and sign in again."),
        "The user has to allow what you ask for. Send the request without prompt=none.",
    )
    GROUP = Texts(
        "group_required",
        "access_denied",
        "The user is not in the group that the client requires (`--require-group`).",
        _(
            "Only the members of a group may use this application. Ask the people who run "
            "this site for access."
        ),
        (
            "Only the members of a group may use this application, and this user is not one. The "
            "administrator of authsite adds members."
        ),
        403,
    )
    LOGIN_NEEDED = Texts(
        "login_needed",
        "login_required",
        (
            "With `prompt=none`: no user is signed in, the sign-in is older than `max_age`, or "
            "another user is signed in than that of `id_token_hint`."
        ),
        _("Go back to the application and sign in again."),
        "The user has to sign in. Send the request without prompt=none.",
    )
    LEVEL_NEEDED = Texts(
        "level_needed",
        "interaction_required",
        "With `prompt=none`: the sign-in is of a lower level than `acr_values` asks for.",
        _("Go back to the application and sign in again."),
        "The user has to sign in with a further proof. Send the request without prompt=none.",
    )

    # Ours.
    NOT_A_PAGE = Texts(
        "not_a_page",
        INVALID,
        (
            "A request that is too long for a URL came in a frame, as an image or from a script: "
            "nothing is stored for it."
        ),
        _(
            "This request is too long to be answered within another page. Open the application in "
            "a window of its own."
        ),
        (
            "A request that is too long for a URL is answered only in a window of the browser, not "
            "in a frame. Send a shorter one, or lead the browser here."
        ),
    )
    UNAVAILABLE = Texts(
        "unavailable",
        "temporarily_unavailable",
        (
            "With `prompt=none`: the request was over a limit, or the database did not answer. The "
            "log says which."
        ),
        _("Signing in to applications does not work now. Try again in a few minutes."),
        (
            "The request was over a limit, or the service cannot answer now. Send it again in a "
            "minute. The operator of authsite finds the reason in the log."
        ),
        503,
    )
    NO_KEY = Texts(
        "no_key",
        "temporarily_unavailable",
        "There is no usable signing key. `authsite doctor` says why.",
        _("Signing in to applications does not work now. Try again in a few minutes."),
        (
            "There is no usable signing key. The operator of authsite learns more from authsite "
            "doctor."
        ),
        503,
    )


class AnswerTo(NamedTuple):
    """Where an answer goes: a redirect URI of the client, and the ``state`` of the request.

    ``silent``: the request is one with ``prompt=none``, whose answer no person sees.
    """

    redirect_uri: str
    state: str | None
    silent: bool = False


class Refused(Exception):
    """An authorization request is refused.

    ``parameter``: which one it is about. ``details``: what the operator sees besides: what was
    ``sent``, what is ``expected``, the ``nearest`` registered value and what ``differs``.
    ``answer_to``: where the application learns of it; None for a page of ours.
    """

    def __init__(
        self, reason: Reason, parameter: str = "", details: dict[str, str] | None = None
    ) -> None:
        super().__init__(str(reason))
        self.reason, self.parameter, self.details = reason, parameter, details or {}
        self.client: RegisteredClient | None = None
        self.user_id: UUID | None = None
        self.answer_to: AnswerTo | None = None

    @property
    def sentence(self) -> str:
        """For a person: what happened, and what to do next; to translate."""
        return _(self.reason.person, mapping={"parameter": self.parameter})

    @property
    def description(self) -> str:
        """For the application: the ``error_description``."""
        return self.reason.description(self.shown)

    @property
    def shown(self) -> Mapping[str, str]:
        """For the operator: what was sent and expected."""
        return {"parameter": self.parameter, **self.details} if self.parameter else self.details
