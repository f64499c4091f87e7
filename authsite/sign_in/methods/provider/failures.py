"""Why a way to a provider failed: for the person a page, for the operator a reason."""

from enum import StrEnum
from typing import NamedTuple, Self

from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import _
from authsite.platform.settings.sections.providers import Provider


class FailurePage(NamedTuple):
    """The page of a failure: status, title, and a sentence that says what to do next.

    In both texts ``${provider}`` is the label of the provider.
    """

    status: int
    title: str
    sentence: str


_CANCELED = FailurePage(
    400,
    _("Canceled"),
    _(
        "You came back from ${provider} without a sign-in there, and nothing has changed. Try "
        "again, or choose another way."
    ),
)
_TOO_OLD = FailurePage(
    400,
    _("This took too long"),
    _("More than 10 minutes have passed since you left for ${provider}. Begin again."),
)
_USED = FailurePage(
    400,
    _("This page was opened before"),
    _("Each answer of ${provider} works once, and this one was used. Begin again."),
)
_OTHER_BROWSER = FailurePage(
    400,
    _("This began in another browser"),
    _(
        "This answer of ${provider} belongs to another browser, or this browser keeps no cookies. "
        "Begin again in this browser."
    ),
)
_ENDED = FailurePage(
    400,
    _("This page or link no longer works"),
    _("It was used already, or too much time has passed. Begin again with ${provider}."),
)
_LINK_IN_OTHER_BROWSER = FailurePage(
    400,
    _("Open the link in the other browser"),
    _(
        "For your security this link works only in the browser in which you began with "
        "${provider}. Copy the link from the e-mail and open it there, or begin again here."
    ),
)
_SIGNED_OUT = FailurePage(
    400,
    _("You are no longer signed in"),
    _("The sign-in in which you left for ${provider} has ended. Sign in, and begin again."),
)
_NOT_OURS = FailurePage(
    400,
    _("This answer does not belong here"),
    _("The answer of ${provider} is incomplete, or belongs to something else. Begin again."),
)
_NO_ANSWER = FailurePage(
    503,
    _("${provider} did not answer as expected"),
    _(
        "We got no usable answer from ${provider}. Try again in a few minutes, or choose another "
        "way to sign in."
    ),
)
_TENANT = FailurePage(
    403,
    _("Your organization is not allowed here"),
    _(
        "Only accounts of certain organizations at ${provider} are allowed. Choose another account "
        "there, or ask the people who run this site."
    ),
)
_DOMAIN = FailurePage(
    403,
    _("Your address is not allowed here"),
    _(
        "Only accounts of certain domains at ${provider} are allowed. Choose another account "
        "there, or ask the people who run this site."
    ),
)
_TAKEN = FailurePage(
    403,
    _("Another user has this sign-in method"),
    _(
        "This account at ${provider} is linked to another user. Choose another account there, or "
        "sign in as that user."
    ),
)
_NOT_LINKED = FailurePage(
    403,
    _("This is not your sign-in method"),
    _(
        "This account at ${provider} is not linked to you. Choose the one that is listed on your "
        "account page, under Sign-in methods."
    ),
)
_NOT_RECENT = FailurePage(
    400,
    _("This is not enough as a confirmation"),
    _(
        "${provider} has not told us that you have just signed in there, so this does not show "
        "that it is you. Set a password instead: your account page mails you a link."
    ),
)
_CLOSED = FailurePage(
    403,
    _("You cannot register here"),
    _(
        "This account at ${provider} is not linked to a user, and new users cannot register with "
        "it. If you have an account, sign in another way, and link ${provider} on your account "
        "page."
    ),
)
_NO_EMAIL = FailurePage(
    400,
    _("There is no e-mail address"),
    _(
        "${provider} has not told us an e-mail address that we can use. Add one there and try "
        "again, or choose another way to sign in."
    ),
)


class ProviderFailure(StrEnum):
    """Why a way to a provider failed: the detail `reason` of `provider.refused`.

    ``meaning`` is for the operator; the person sees ``page``. A page never has a text of the
    provider.
    """

    meaning: str
    page: FailurePage

    def __new__(cls, name: str, meaning: str, page: FailurePage) -> Self:
        made = str.__new__(cls, name)
        made._value_ = name
        made.meaning, made.page = meaning, page
        return made

    ACCESS_TOKEN = (
        "access_token",
        "The provider's token answer has no access token, or one that no header can carry.",
        _NO_ANSWER,
    )
    ALGORITHM = (
        "algorithm",
        "The ID token is signed with an algorithm that is not among RS256, PS256 and ES256, or "
        "that the provider's discovery does not announce.",
        _NO_ANSWER,
    )
    AT_HASH = (
        "at_hash",
        "The `at_hash` of the ID token is not that of the access token.",
        _NO_ANSWER,
    )
    AUDIENCE = (
        "audience",
        "The ID token is for another client: `aud`, or with several audiences `azp`, is not the "
        "setting `client-id`.",
        _NO_ANSWER,
    )
    CANCELED = "canceled", "The person canceled at the provider, or was not signed in.", _CANCELED
    CODE = (
        "code",
        "The provider rejected the authorization code: it was used before or has expired.",
        _TOO_OLD,
    )
    DISCOVERY = (
        "discovery",
        "The provider's discovery document is not usable: an address is missing, or its `issuer` "
        "is not the setting `issuer`. `authsite doctor` says more.",
        _NO_ANSWER,
    )
    DOMAIN = (
        "domain",
        "The e-mail domain, or the `hd` of Google, is not among the provider's `domains`.",
        _DOMAIN,
    )
    ENDED = (
        "ended",
        "The page after a return, or a mailed link, was used before or has expired.",
        _ENDED,
    )
    EXPIRED = "expired", "The ID token has expired, or does not say when.", _NO_ANSWER
    ID_TOKEN = "id_token", "There is no ID token, or it cannot be parsed.", _NO_ANSWER
    ISSUED_AT = (
        "issued_at",
        "The ID token was issued more than 60 seconds ahead of our clock, or does not say when.",
        _NO_ANSWER,
    )
    ISSUER = "issuer", "The ID token is of another issuer.", _NO_ANSWER
    KEY = "key", "The provider's keys have none for this ID token.", _NO_ANSWER
    LINKED_TO_ANOTHER_USER = (
        "linked_to_another_user",
        "The identity is linked to another user.",
        _TAKEN,
    )
    LINK_IN_OTHER_BROWSER = (
        "link_in_other_browser",
        "The page or the mailed link was opened in another browser than the one that began.",
        _LINK_IN_OTHER_BROWSER,
    )
    NO_CODE = "no_code", "The return has neither a code nor an error.", _NOT_OURS
    NO_EMAIL = "no_email", "The provider told no e-mail address that can be used.", _NO_EMAIL
    NONCE = "nonce", "The nonce of the ID token is not that of this start.", _NO_ANSWER
    NOT_LINKED = (
        "not_linked",
        "The identity is not one of the signed-in user's, so it confirms nothing.",
        _NOT_LINKED,
    )
    NOT_RECENT = (
        "not_recent",
        "The provider told no `auth_time`, or one of 10 minutes ago or earlier, so the return is "
        "no proof for a sensitive change.",
        _NOT_RECENT,
    )
    OTHER_BROWSER = (
        "other_browser",
        "The browser has not the cookie with which this way began: it is another one, it takes no "
        "cookies, or it was led here by another site (login CSRF).",
        _OTHER_BROWSER,
    )
    OTHER_PROVIDER = (
        "other_provider",
        "The way began with another provider than the one whose path was called, or the "
        "parameter `iss` names another issuer (mix-up).",
        _NOT_OURS,
    )
    PROFILE = (
        "profile",
        "The provider's answer about the person is not usable.",
        _NO_ANSWER,
    )
    PROFILE_SUBJECT = (
        "profile_subject",
        "The profile is of another subject than the ID token.",
        _NO_ANSWER,
    )
    PROVIDER_ERROR = (
        "provider_error",
        "The provider came back with an error other than a cancellation. Its code is in the log.",
        _NO_ANSWER,
    )
    REGISTRATION_CLOSED = (
        "registration_closed",
        "The identity is unknown, and `registration`, `create` or `registration-domains` lets no "
        "user register with it.",
        _CLOSED,
    )
    SIGNATURE = "signature", "The signature of the ID token is wrong.", _NO_ANSWER
    SIGNED_OUT = (
        "signed_out",
        "The browser session in which this way began, to link or to confirm, has ended.",
        _SIGNED_OUT,
    )
    STATE = "state", "The parameter `state` is missing or was changed.", _NOT_OURS
    SUBJECT = (
        "subject",
        "The provider told no subject, or one of more than 255 characters.",
        _NO_ANSWER,
    )
    TENANT = "tenant", "The directory (`tid`) is not among the provider's `tenants`.", _TENANT
    TOKEN = (
        "token",
        "The token endpoint of the provider rejected us. Check `client-id` and `client-secret`; "
        "the error code is in the log.",
        _NO_ANSWER,
    )
    TOO_OLD = "too_old", "The return came more than 10 minutes after the start.", _TOO_OLD
    UNREACHABLE = (
        "unreachable",
        "The provider did not answer in time, or its answer was too long or not JSON. The log "
        "says which address.",
        _NO_ANSWER,
    )
    USED = "used", "The return was used before.", _USED


class ProviderRefused(ApiError):
    """A way to a provider ends here. ``reason`` is the `ProviderFailure`, also for the audit.

    ``subject``: whom the provider told, if it came to that; a caller stores only its hash.
    ``cause``: what is wrong with the provider's answer, for operators.
    """

    summary = "The return from a provider was refused."
    code = "provider_refused"

    def __init__(
        self,
        failure: ProviderFailure,
        provider: Provider,
        *,
        subject: str | None = None,
        cause: str | None = None,
    ) -> None:
        label = {"provider": provider.label}
        self.failure, self.provider, self.subject = failure, provider, subject
        self.cause = cause
        self.reason = str(failure)
        self.status = failure.page.status
        self.title: str = _(failure.page.title, mapping=label)
        super().__init__(_(failure.page.sentence, mapping=label))
