"""Why an authorization request was refused: for the person or the application, and for operators.

A sentence is both the text of our page and, in English, the ``error_description`` of a redirect. So
it has only the characters of RFC 6749, section 4.1.2.1: ASCII without quotes and backslashes.
Those that a page can show are marked for translation; the others only an application reads.
"""

from enum import StrEnum
from typing import NamedTuple, Self
from uuid import UUID

from authsite.oauth.registered import RegisteredClient
from authsite.platform.i18n import _

INVALID = "invalid_request"


class Reason(StrEnum):
    """Why a request was refused: the detail `reason` of `authorization.refused`.

    ``error``: the code of RFC 6749, section 4.1.2.1, of OpenID Connect Core 1.0, section 3.1.2.6,
    or of RFC 8707. In ``sentence``, ``${parameter}`` is the name of the parameter that it is about.
    ``status``: of the page, where there is one.
    """

    error: str
    sentence: str
    meaning: str
    status: int

    def __new__(cls, name: str, error: str, sentence: str, meaning: str, status: int = 400) -> Self:
        made = str.__new__(cls, name)
        made._value_ = name
        made.error, made.sentence, made.meaning, made.status = error, sentence, meaning, status
        return made

    # Pages: without a client and a redirect URI there is no place to lead to.
    CLIENT_MISSING = (
        "client_missing",
        INVALID,
        _("The application did not say which application it is. Tell the people who run it."),
        "The parameter `client_id` is missing.",
    )
    CLIENT_UNKNOWN = (
        "client_unknown",
        "unauthorized_client",
        _("This application is not registered here. Tell the people who run it."),
        "There is no enabled client with this `client_id` of a type that signs people in "
        "(`server`, `browser` or `native`); or one that had registered itself was deleted, since it"
        " was not used for a day; or it is a URL whose host `client-id-documents` does not have.",
    )
    DOCUMENT_BUSY = (
        "document_busy",
        "temporarily_unavailable",
        _("Too many people are signing in to new applications. Try again in a minute."),
        "The document of the client was not fetched: as many are under way as may be at a time.",
        503,
    )
    DOCUMENT_INVALID = (
        "document_invalid",
        INVALID,
        _(
            "The description of the application, which its own site gives, is not valid. Tell the "
            "people who run the application."
        ),
        "The document at the `client_id` does not describe a client: `why` says what is wrong.",
    )
    DOCUMENT_UNREACHABLE = (
        "document_unreachable",
        INVALID,
        _(
            "The site of the application does not answer us. Try again in a few minutes. If that "
            "does not help, tell the people who run the application."
        ),
        "The document at the `client_id` could not be fetched: `why` says what happened. Only "
        "public addresses are asked, by https; no redirect is followed.",
    )
    DOCUMENT_URL = (
        "document_url",
        INVALID,
        _("The id of the application is not a valid address. Tell the people who run it."),
        "The `client_id` is a URL that cannot be one of a client: `why` says what is wrong.",
    )
    MALFORMED = (
        "malformed",
        INVALID,
        _("We cannot read the request of the application. Go back to it and begin again."),
        "The query or the body is not UTF-8, has more than 100 parameters, or is not a form.",
    )
    REDIRECT_URI_MISMATCH = (
        "redirect_uri_mismatch",
        INVALID,
        _(
            "The application wants to send you to an address that is not registered for it. Tell "
            "the people who run it."
        ),
        "The parameter `redirect_uri` is none of the client. If `sent` is right, register it with "
        "`authsite client update --redirect-uri`; else correct the configuration of the "
        "application.",
    )
    REDIRECT_URI_MISSING = (
        "redirect_uri_missing",
        INVALID,
        _(
            "The application did not say where to send you after the sign-in. Tell the people who "
            "run it."
        ),
        "The parameter `redirect_uri` is missing. It may be left out only if the client has "
        "exactly one, and without the scope `openid`.",
    )
    REPEATED = (
        "repeated",
        INVALID,
        _(
            "The application sent the parameter ${parameter} more than once. Tell the people who "
            "run it."
        ),
        "A parameter is there more than once (RFC 6749, section 3.1).",
    )
    TOO_OLD = (
        "too_old",
        INVALID,
        _("The request of the application has expired. Go back to it and begin again."),
        "The stored request has ended: it was made more than 10 minutes ago.",
    )
    # What the application is told.
    ACR_NOT_REACHABLE = (
        "acr_not_reachable",
        "unmet_authentication_requirements",
        "No way to sign in here reaches the level that acr_values asks for. Ask for less.",
        "The parameter `acr_values` asks for a level that no way to sign in gives.",
    )
    CHALLENGE = (
        "challenge",
        INVALID,
        "The code_challenge is not the base64url text of a SHA-256 hash. Compute it by S256.",
        "The parameter `code_challenge` is not 43 characters of base64url (RFC 7636).",
    )
    CHALLENGE_METHOD = (
        "challenge_method",
        INVALID,
        "Send code_challenge_method=S256. There is no other method here.",
        "The parameter `code_challenge_method` is missing, or is not `S256`.",
    )
    CHALLENGE_MISSING = (
        "challenge_missing",
        INVALID,
        "PKCE is required. Send code_challenge and code_challenge_method=S256.",
        "The parameter `code_challenge` is missing. A client of the type `server` whose software "
        "cannot send it may have `--pkce optional`.",
    )
    HINT = (
        "id_token_hint",
        INVALID,
        "The id_token_hint is not an ID token of this site. Send one of ours, or none.",
        "The parameter `id_token_hint` is not an ID token that this installation has signed.",
    )
    INVALID_VALUE = (
        "invalid_value",
        INVALID,
        "The value of the parameter ${parameter} is too long or not valid. Send another one.",
        "A parameter is too long, or has a value that it cannot have.",
    )
    PROMPT_NONE = (
        "prompt_none",
        INVALID,
        "The value none of the parameter prompt excludes all others. Send it alone.",
        "The parameter `prompt` has `none` and another value.",
    )
    REQUEST_OBJECT = (
        "request_object",
        "request_not_supported",
        "The parameter request is not supported. Send the parameters themselves.",
        "The parameter `request` is not supported.",
    )
    REQUEST_URI = (
        "request_uri",
        "request_uri_not_supported",
        "The parameter request_uri is not supported. Send the parameters themselves.",
        "The parameter `request_uri` is not supported.",
    )
    RESPONSE_MODE = (
        "response_mode",
        INVALID,
        "Leave response_mode out, or send response_mode=query.",
        "The parameter `response_mode` is not `query`.",
    )
    RESPONSE_TYPE = (
        "response_type",
        "unsupported_response_type",
        "Send response_type=code. There is no other type here.",
        "The parameter `response_type` is not `code`.",
    )
    RESPONSE_TYPE_MISSING = (
        "response_type_missing",
        INVALID,
        "The parameter response_type is missing. Send response_type=code.",
        "The parameter `response_type` is missing.",
    )
    SCOPE = (
        "scope",
        "invalid_scope",
        "The application may not have one of these scopes. Ask only for those that it may have.",
        "A scope in `scope` is not one of the client's, or, without `openid`, is not known; or no "
        "group of the user gives any of them.",
    )
    TARGET = (
        "resource",
        "invalid_target",
        "The resource is not known here. Send the URI that is registered for it.",
        "The parameter `resource` is not registered: see `authsite resource list`.",
    )
    TOO_LONG = (
        "too_long",
        INVALID,
        "The request is longer than 8 KiB. Send a shorter one.",
        "The request is longer than 8 KiB.",
    )
    # What the state of the browser and the user decides.
    ADDRESS_NOT_CONFIRMED = (
        "address_not_confirmed",
        "interaction_required",
        "The user has to confirm the e-mail address. Send the request without prompt=none.",
        "With `prompt=none`: the e-mail address of the user is not confirmed, which the settings "
        "or the client require.",
    )
    CHOICE_NEEDED = (
        "choice_needed",
        "account_selection_required",
        "The user has to choose an account. Send the request without prompt=none.",
        "With `prompt=none`: the user has to choose an account.",
    )
    CONSENT_NEEDED = (
        "consent_needed",
        "consent_required",
        "The user has to allow what you ask for. Send the request without prompt=none.",
        "With `prompt=none`: the user has not allowed the client what it asks for, or the answer "
        "goes to a program on the user's computer, which needs a press each time.",
    )
    GROUP = (
        "group_required",
        "access_denied",
        _(
            "Only the members of a group may use this application. Ask the people who run this "
            "site for access."
        ),
        "The user is not in the group that the client requires (`--require-group`).",
        403,
    )
    LOGIN_NEEDED = (
        "login_needed",
        "login_required",
        "The user has to sign in. Send the request without prompt=none.",
        "With `prompt=none`: no user is signed in, the sign-in is older than `max_age`, or another "
        "user is signed in than that of `id_token_hint`.",
    )
    LEVEL_NEEDED = (
        "level_needed",
        "interaction_required",
        "The user has to sign in with a further proof. Send the request without prompt=none.",
        "With `prompt=none`: the sign-in is of a lower level than `acr_values` asks for.",
    )
    # Ours.
    NO_KEY = (
        "no_key",
        "temporarily_unavailable",
        _("Signing in to applications does not work now. Try again in a few minutes."),
        "There is no usable signing key. `authsite doctor` says why.",
        503,
    )


class AnswerTo(NamedTuple):
    """Where an answer goes: a redirect URI of the client, and the ``state`` of the request."""

    redirect_uri: str
    state: str | None


class Refused(Exception):
    """An authorization request is refused.

    ``parameter``: which one it is about. ``details``: what the operator sees besides.
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
        """What happened, and what to do next; to translate."""
        return _(self.reason.sentence, mapping={"parameter": self.parameter})
