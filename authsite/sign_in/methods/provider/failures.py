"""Why a way to a provider failed: for the person a page, for the operator a reason."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple, Self

from authsite.platform.denied_requests.reason import DenialReason, Texts, member
from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import _
from authsite.platform.settings.sections.providers import Provider

from .values import Purpose, Start

# The pages of failures on the way to a provider: in plain words, with what to do next.


class Next(Enum):
    """Where the buttons of the page lead."""

    SIGN_IN = "to the provider again, and to the login page"
    ACCOUNT = "to the account page, where the signed-in person began"
    OTHER_WAY = "to the login page, since the provider would answer the same again"
    PASSWORD_LINK = "a mail with the link that sets a password, and to the account page"


class FailurePage(NamedTuple):
    """The page of a failure: status, title, and a sentence that says what to do next.

    In both texts ``${provider}`` is the label of the provider. ``next``: where the buttons lead.
    """

    status: int
    title: str
    sentence: str
    next: Next = Next.SIGN_IN


CANCELED = FailurePage(
    400,
    _("Canceled"),
    _(
        "You came back from ${provider} without a sign-in there, and nothing has changed. Try "
        "again, or choose another way."
    ),
)
TOO_OLD = FailurePage(
    400,
    _("This took too long"),
    _("More than 10 minutes have passed since you left for ${provider}. Begin again."),
)
USED = FailurePage(
    400,
    _("This page was opened before"),
    _("Each answer of ${provider} works once, and this one was used. Begin again."),
)
OTHER_BROWSER = FailurePage(
    400,
    _("This began in another browser"),
    _(
        "This answer of ${provider} belongs to another browser, or this browser keeps no cookies. "
        "Begin again in this browser."
    ),
)
ENDED = FailurePage(
    400,
    _("This page or link no longer works"),
    _("It was used already, or too much time has passed. Begin again with ${provider}."),
)
LINK_IN_OTHER_BROWSER = FailurePage(
    400,
    _("Open the link in the other browser"),
    _(
        "For your security this link works only in the browser in which you began with "
        "${provider}. Copy the link from the e-mail and open it there, or begin again here."
    ),
)
SIGNED_OUT = FailurePage(
    400,
    _("You are no longer signed in"),
    _("The sign-in in which you left for ${provider} has ended. Sign in, and begin again."),
)
NOT_OURS = FailurePage(
    400,
    _("This answer does not belong here"),
    _("The answer of ${provider} is incomplete, or belongs to something else. Begin again."),
)
NO_ANSWER = FailurePage(
    503,
    _("${provider} did not answer as expected"),
    _(
        "We got no usable answer from ${provider}. Try again in a few minutes, or choose another "
        "way to sign in."
    ),
)
NOT_USABLE = FailurePage(
    503,
    _("${provider} did not answer as expected"),
    _(
        "We got no usable answer from ${provider}, and another try will not change that. Choose "
        "another way, and tell the people who run this site the number below."
    ),
    Next.OTHER_WAY,
)
PROVIDER_ERROR = FailurePage(
    503,
    _("${provider} did not let you through"),
    _(
        "${provider} reports an error, for which its administrators or the people who run this "
        "site have to do something. Choose another way, and tell them the number below."
    ),
    Next.OTHER_WAY,
)
TENANT = FailurePage(
    403,
    _("Your organization is not allowed here"),
    _(
        "Only accounts of certain organizations at ${provider} are allowed. Choose another account "
        "there, or ask the people who run this site."
    ),
)
DOMAIN = FailurePage(
    403,
    _("Your address is not allowed here"),
    _(
        "Only accounts of certain domains at ${provider} are allowed. Choose another account "
        "there, or ask the people who run this site."
    ),
)
TAKEN = FailurePage(
    403,
    _("Another user has this sign-in method"),
    _(
        "This account at ${provider} is linked to another user. Choose another account there, or "
        "sign in as that user."
    ),
    Next.ACCOUNT,
)
NOT_LINKED = FailurePage(
    403,
    _("This is not your sign-in method"),
    _(
        "This account at ${provider} is not linked to you. Choose the one that is listed on your "
        "account page, under Sign-in methods."
    ),
    Next.ACCOUNT,
)
NOT_RECENT = FailurePage(
    400,
    _("This is not enough as a confirmation"),
    _(
        "${provider} has not told us that you have just signed in there, so this does not show "
        "that it is you. Set a password instead."
    ),
    Next.PASSWORD_LINK,
)
NOT_VOUCHED_FOR = FailurePage(
    403,
    _("This is not enough as a confirmation"),
    _(
        "${provider} has not told us a verified address of yours of the domains that are allowed "
        "here, so this does not show that it is you. Set a password instead."
    ),
    Next.PASSWORD_LINK,
)
CLOSED = FailurePage(
    403,
    _("You cannot register here"),
    _(
        "This account at ${provider} is not linked to a user, and new users cannot register with "
        "it. If you have an account, sign in another way, and link ${provider} on your account "
        "page."
    ),
)

REFUSED = "provider_refused"
ADDRESS_ASKED = _("${provider} has not told us an address. Enter yours: we send a link to it.")
LINK_MAILED = _("We sent you a link. Open it in this browser to go on with ${provider}.")


def _doubt(name: str, meaning: str, developer: str, person: str = LINK_MAILED) -> Texts:
    return Texts(name, "address_asked", meaning, person, developer, 303, in_answer=False)


class AddressDoubt(DenialReason):
    """Why an address that a provider told has to be proved by a mail.

    It is the detail `reason` of `provider.address_asked`.
    """

    NOT_SAID = _doubt(
        "not_said",
        "The provider told an e-mail address, and not whether it has verified it "
        "(`email_verified`; Microsoft Entra: `xms_edov`).",
        "The provider has to tell email_verified beside email, or Microsoft Entra xms_edov (an "
        "optional claim of the application there).",
    )
    NO_ADDRESS = _doubt(
        "no_address",
        "The provider told no e-mail address that can be used. The scope that it answered may "
        "lack what was asked for.",
        "The provider has to tell email, as a text, for the scope email. GitHub: a primary "
        "address that is verified.",
        person=ADDRESS_ASKED,
    )
    NOT_TRUSTED = _doubt(
        "not_trusted",
        "The provider says that it has verified the e-mail address, and may not say so here: "
        "`trust-email` is off, or the address is of a domain over which it has no authority "
        "(`domain-authority`).",
        "Nothing has to be changed at the provider: the settings trust-email and domain-authority "
        "decide whose word counts.",
    )
    UNVERIFIED = _doubt(
        "unverified",
        "The provider says that it has not verified the e-mail address.",
        "The provider has to verify the address, and to tell email_verified as true.",
    )


class ProviderFailure(DenialReason):
    """Why a way to a provider failed: the detail `reason` of `provider.refused`.

    The person sees ``page``, where ``${provider}`` stands for the label. A page never has a text of
    the provider. ``developer``: of the provider.
    """

    page: FailurePage

    def __new__(cls, name: str, meaning: str, page: FailurePage, developer: str) -> Self:
        row = Texts(name, REFUSED, meaning, page.sentence, developer, page.status, in_answer=False)
        made = member(cls, row)
        made.page = page
        return made

    ACCESS_TOKEN = (
        "access_token",
        "The provider's token answer has no access token, or one that no header can carry.",
        NOT_USABLE,
        "The token answer of the provider needs access_token: a text of visible ASCII characters "
        "(RFC 6749, section 5.1).",
    )
    ALGORITHM = (
        "algorithm",
        "The ID token is signed with an algorithm that is not among RS256, PS256 and ES256, or "
        "that the provider's discovery does not announce.",
        NOT_USABLE,
        "The provider has to sign ID tokens with RS256, PS256 or ES256, and to name the algorithm "
        "in id_token_signing_alg_values_supported of its discovery.",
    )
    AT_HASH = (
        "at_hash",
        "The `at_hash` of the ID token is not that of the access token.",
        NOT_USABLE,
        "The provider has to compute at_hash of the access token of the same answer (OpenID "
        "Connect Core 1.0, section 3.1.3.6), or leave it out.",
    )
    AUDIENCE = (
        "audience",
        "The ID token is for another client: `aud`, or `azp` if there is one, is not the setting "
        "`client-id`, or with several audiences there is no `azp`.",
        NOT_USABLE,
        "The provider has to issue the ID token for the client that redeems the code: its "
        "client_id in aud and, with several audiences, in azp.",
    )
    CANCELED = (
        "canceled",
        "The person canceled at the provider: it came back with `access_denied`.",
        CANCELED,
        "Nothing has to be changed if the person canceled. A provider must not answer "
        "access_denied for another cause (RFC 6749, section 4.1.2.1).",
    )
    CODE = (
        "code",
        "The provider rejected the authorization code: it was used before or has expired.",
        ENDED,
        "The provider has to accept its code once, with the same redirect_uri and code_verifier, "
        "for long enough: RFC 6749, section 4.1.2, recommends up to ten minutes.",
    )
    DISCOVERY = (
        "discovery",
        "The provider's discovery document is not usable: an address is missing, or its `issuer` "
        "is not the setting `issuer`. `authsite doctor` says more.",
        NOT_USABLE,
        "The discovery document of the provider needs issuer, exactly as in the setting, and "
        "authorization_endpoint, token_endpoint and jwks_uri with https (OpenID Connect Discovery "
        "1.0, section 3).",
    )
    DOMAIN = (
        "domain",
        "The e-mail domain, or the `hd` of Google, is not among the provider's `domains`; or the "
        "provider told no address, and none of these domains was proved for the identity before.",
        DOMAIN,
        "The provider has to tell a verified address of one of the domains: email with "
        "email_verified; Google tells hd.",
    )
    ENDED = (
        "ended",
        "The page after a return, or a mailed link, was used before or has expired.",
        ENDED,
        "The page after a return, and its mailed link, work once, and not for long. A link in a "
        "mail must not be opened by a program before the person does.",
    )
    EXPIRED = (
        "expired",
        "The ID token has expired, or does not say when. Compare the clocks of both machines.",
        NOT_USABLE,
        "The provider has to set exp to a time after the present one, as a number of seconds "
        "since 1970, by a clock that is right.",
    )
    ID_TOKEN = (
        "id_token",
        "There is no ID token, or it cannot be parsed.",
        NOT_USABLE,
        "The token answer of the provider needs id_token: a signed JWT in compact form. With the "
        "scope openid a provider returns one.",
    )
    ISSUED_AT = (
        "issued_at",
        "The ID token was issued more than 60 seconds ahead of our clock, or does not say when. "
        "Compare the clocks of both machines.",
        NOT_USABLE,
        "The provider has to set iat to the present time, as a number of seconds since 1970, by a "
        "clock that is right.",
    )
    ISSUER = (
        "issuer",
        "The ID token is of another issuer.",
        NOT_USABLE,
        "The provider has to set iss to the issuer of its discovery document, character by "
        "character.",
    )
    KEY = (
        "key",
        "The provider's keys have none for this ID token.",
        NO_ANSWER,
        "The provider has to publish the key in its jwks_uri before it signs with it, under the "
        "kid of the header of the ID token, for signatures (use, key_ops, alg).",
    )
    LINKED_TO_ANOTHER_USER = (
        "linked_to_another_user",
        "The identity is linked to another user.",
        TAKEN,
        "The same sub always stands for one person: the provider must not assign it again.",
    )
    LINK_IN_OTHER_BROWSER = (
        "link_in_other_browser",
        "The page or the mailed link was opened in another browser than the one that began.",
        LINK_IN_OTHER_BROWSER,
        "The link works in the browser that began alone: do not open it in a view of the mail "
        "program or in another profile.",
    )
    NO_CODE = (
        "no_code",
        "The return has neither a code nor an error.",
        NOT_OURS,
        "The provider has to return with code and state, or with error and state, in the query of "
        "the redirect URI.",
    )
    NONCE = (
        "nonce",
        "The nonce of the ID token is not that of this start.",
        NOT_USABLE,
        "The provider has to copy nonce of this authorization request into the ID token unchanged.",
    )
    NONCE_MISSING = (
        "nonce_missing",
        "The ID token has no `nonce`, though the request had one. OpenID Connect Core 1.0, "
        "section 2, requires it, and without it a token of another sign-in could be played back: "
        "this provider cannot be used.",
        NOT_USABLE,
        "The provider has to copy nonce of the authorization request into the ID token (OpenID "
        "Connect Core 1.0, section 2).",
    )
    NOT_BEFORE = (
        "not_before",
        "The ID token is not valid yet: `nbf` is more than 60 seconds ahead of our clock, or no "
        "time. Compare the clocks of both machines.",
        NOT_USABLE,
        "The provider has to set nbf to the present time or an earlier one, as a number of "
        "seconds since 1970, or leave it out.",
    )
    NOT_LINKED = (
        "not_linked",
        "The identity is not one of the signed-in user's, so it confirms nothing.",
        NOT_LINKED,
        "The provider has to return with the sub that it has told before for this account: a sub "
        "of another client or sector is another identity.",
    )
    NOT_RECENT = (
        "not_recent",
        "The provider told no `auth_time`, or one of 10 minutes ago or earlier, so the return is "
        "not a proof for a sensitive change.",
        NOT_RECENT,
        "The provider has to obey prompt and max_age of the request, and to tell auth_time in the "
        "ID token (OpenID Connect Core 1.0, section 3.1.2.1).",
    )
    NOT_VOUCHED_FOR = (
        "not_vouched_for",
        "The provider has `domains`, and told no verified address of them at this return, so it "
        "confirms nothing.",
        NOT_VOUCHED_FOR,
        "The provider has to tell a verified address of one of the domains at each return: email "
        "with email_verified; Google tells hd.",
    )
    OTHER_BROWSER = (
        "other_browser",
        "The browser has not the cookie with which this way began: it is another one, it takes no "
        "cookies, or it was led here by another site (login CSRF).",
        OTHER_BROWSER,
        "Begin at /login/with and the name of the provider in the browser to which the provider "
        "returns. Do not open the URL of the provider, or the return, in another browser or in a "
        "view of an app.",
    )
    OTHER_PROVIDER = (
        "other_provider",
        "The way began with another provider than the one whose path was called, or the parameter "
        "`iss` names another issuer (mix-up).",
        NOT_OURS,
        "The provider has to return to the redirect_uri of the request. If it sends iss (RFC "
        "9207), this is the issuer of its discovery document.",
    )
    PROFILE = (
        "profile",
        "The provider's answer about the person is not usable.",
        NOT_USABLE,
        "The address of the profile has to answer the access token of the same sign-in with a "
        "JSON object (OpenID Connect Core 1.0, section 5.3.2).",
    )
    PROFILE_SUBJECT = (
        "profile_subject",
        "The profile is of another subject than the ID token.",
        NOT_USABLE,
        "The provider has to tell the same sub in ID token and profile (OpenID Connect Core 1.0, "
        "section 5.3.2).",
    )
    PROVIDER_BUSY = (
        "provider_busy",
        "The provider came back with an error that may pass: `server_error` or "
        "`temporarily_unavailable`.",
        NO_ANSWER,
        "The provider returned server_error or temporarily_unavailable (RFC 6749, section "
        "4.1.2.1): its own log says why.",
    )
    PROVIDER_ERROR = (
        "provider_error",
        "The provider came back with an error that is not a cancellation. What it says of it is "
        "in `error` and `description`.",
        PROVIDER_ERROR,
        "The provider refused the authorization request: its own log, and error and description "
        "here, say why.",
    )
    REGISTRATION_CLOSED = (
        "registration_closed",
        "The identity is unknown, and `registration`, `create` or `registration-domains` lets no "
        "user register with it.",
        CLOSED,
        "Nothing is wrong with the answer of the provider: the settings let no new user begin "
        "with it.",
    )
    SIGNATURE = (
        "signature",
        "The signature of the ID token is wrong.",
        NOT_USABLE,
        "The provider has to sign the ID token with the private key whose public key its jwks_uri "
        "publishes under the kid of the header.",
    )
    SIGNED_OUT = (
        "signed_out",
        "The browser session in which this way began, to link or to confirm, has ended.",
        SIGNED_OUT,
        "Nothing is wrong with the answer of the provider: the sign-in here ended before it came.",
    )
    STATE = (
        "state",
        "The parameter `state` is missing or was changed.",
        NOT_OURS,
        "The provider has to return state of the request unchanged (RFC 6749, section 4.1.2).",
    )
    SUBJECT = (
        "subject",
        "The provider told no subject, or one of more than 255 characters.",
        NOT_USABLE,
        "The provider has to tell sub: up to 255 characters (OpenID Connect Core 1.0, section 2). "
        "GitHub: id, a positive integer.",
    )
    SUBJECT_TYPE = (
        "subject_type",
        "The provider told a subject (`sub`) that is not a text, such as a number. OpenID Connect "
        'Core 1.0, section 2, requires a text: 12345 and "12345" must not become one person.',
        NOT_USABLE,
        "The provider has to tell sub as a JSON string, in ID token and profile.",
    )
    TENANT = (
        "tenant",
        "The directory (`tid`) is not among the provider's `tenants`.",
        TENANT,
        "The application at Microsoft Entra admits accounts of more directories than the setting "
        "tenants. Register it for those alone, or have the setting name the directory in sent.",
    )
    TOKEN = (
        "token",
        "The token endpoint of the provider rejected us. Check `client-id` and `client-secret`; "
        "what it says is in `error` and `description`.",
        NOT_USABLE,
        "The token endpoint of the provider has to accept client_id and client_secret: compare "
        "them, and the way they are sent, with the registration there.",
    )
    TOKEN_TYPE = (
        "token_type",
        "The token that came as the ID token is of another kind: its `typ` is not `JWT`.",
        NOT_USABLE,
        "The provider has to return an ID token: typ of its header is JWT or missing. An access "
        "token (at+jwt) or a logout token is none.",
    )
    TOO_OLD = (
        "too_old",
        "The return came more than 10 minutes after the start.",
        TOO_OLD,
        "The provider has to return within ten minutes after the start.",
    )
    UNREACHABLE = (
        "unreachable",
        "The provider could not be reached or did not answer in time, or its answer was too long "
        "or not JSON.",
        NO_ANSWER,
        "The provider has to answer within five seconds with JSON and without a redirect, up to "
        "the lengths that are documented; cause says which address.",
    )
    USED = (
        "used",
        "The return was used before.",
        USED,
        "Each return works once: a program in between must not call it a second time.",
    )


class ProviderRefused(ApiError):
    """A way to a provider ends here. ``reason`` is the `ProviderFailure`, also for the audit.

    ``subject``: whom the provider told, if it came to that; a caller stores only its hash.
    ``cause``: what is wrong with the provider's answer, for operators. ``facts``: what else log and
    audit trail say, such as `sent` and `expected`; never an address or a subject. ``next``: the
    checked page of the sign-in, once that is known; another try or another way leads there, too.
    ``signed_in``: the way began on a page of the account, and leads back there.
    """

    summary = "The return from a provider was refused."
    code = REFUSED

    def __init__(
        self,
        failure: ProviderFailure,
        provider: Provider,
        *,
        subject: str | None = None,
        cause: str | None = None,
        details: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        label = {"provider": provider.label}
        self.failure, self.provider, self.subject = failure, provider, subject
        self.cause = cause
        self.facts: dict[str, str] = {**details, **({"cause": cause} if cause else {})}
        self.shown = {**label, **self.facts}
        self.next: str | None = None
        self.signed_in = False
        self.why, self.reason = failure, str(failure)
        self.status = failure.page.status
        self.title: str = _(failure.page.title, mapping=label)
        super().__init__(_(failure.page.sentence, mapping=label))


@contextmanager
def keeping(start: Start) -> Iterator[None]:
    """A `ProviderRefused` that the block raises leads back to where ``start`` began."""
    try:
        yield
    except ProviderRefused as error:
        error.next = start.next
        error.signed_in = start.purpose is not Purpose.SIGN_IN
        raise


@contextmanager
def stating(facts: Mapping[str, str]) -> Iterator[None]:
    """A `ProviderRefused` that the block raises has ``facts`` for log and audit trail, too."""
    try:
        yield
    except ProviderRefused as error:
        error.facts = {**facts, **error.facts}
        error.shown = {**facts, **error.shown}
        raise
