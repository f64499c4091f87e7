"""Why a way to a provider failed: for the person a page, for the operator a reason."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from types import MappingProxyType
from typing import Self

from authsite.platform.audit.explained import Explained
from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import _
from authsite.platform.settings.sections.providers import Provider

from . import failure_pages as pages
from .values import Purpose, Start


class AddressDoubt(Explained):
    """Why an address that a provider told has to be proved by a mail.

    It is the detail `reason` of `provider.address_asked`.
    """

    NOT_SAID = (
        "not_said",
        "The provider told an e-mail address, and not whether it has verified it "
        "(`email_verified`; Microsoft Entra: `xms_edov`).",
    )
    NO_ADDRESS = (
        "no_address",
        "The provider told no e-mail address that can be used. The scope that it answered may lack "
        "what was asked for.",
    )
    NOT_TRUSTED = (
        "not_trusted",
        "The provider says that it has verified the e-mail address, and may not say so here: "
        "`trust-email` is off, or the address is of a domain over which it has no authority "
        "(`domain-authority`).",
    )
    UNVERIFIED = (
        "unverified",
        "The provider says that it has not verified the e-mail address.",
    )


class ProviderFailure(StrEnum):
    """Why a way to a provider failed: the detail `reason` of `provider.refused`.

    ``meaning`` is for the operator; the person sees ``page``. A page never has a text of the
    provider.
    """

    meaning: str
    page: pages.FailurePage

    def __new__(cls, name: str, meaning: str, page: pages.FailurePage) -> Self:
        made = str.__new__(cls, name)
        made._value_ = name
        made.meaning, made.page = meaning, page
        return made

    @property
    def person(self) -> str:
        """The text of the page, to translate; ``${provider}`` stands for its label."""
        return self.page.sentence

    ACCESS_TOKEN = (
        "access_token",
        "The provider's token answer has no access token, or one that no header can carry.",
        pages.NOT_USABLE,
    )
    ALGORITHM = (
        "algorithm",
        "The ID token is signed with an algorithm that is not among RS256, PS256 and ES256, or "
        "that the provider's discovery does not announce.",
        pages.NOT_USABLE,
    )
    AT_HASH = (
        "at_hash",
        "The `at_hash` of the ID token is not that of the access token.",
        pages.NOT_USABLE,
    )
    AUDIENCE = (
        "audience",
        "The ID token is for another client: `aud`, or `azp` if there is one, is not the setting "
        "`client-id`, or with several audiences there is no `azp`.",
        pages.NOT_USABLE,
    )
    CANCELED = (
        "canceled",
        "The person canceled at the provider: it came back with `access_denied`.",
        pages.CANCELED,
    )
    CODE = (
        "code",
        "The provider rejected the authorization code: it was used before or has expired.",
        pages.ENDED,
    )
    DISCOVERY = (
        "discovery",
        "The provider's discovery document is not usable: an address is missing, or its `issuer` "
        "is not the setting `issuer`. `authsite doctor` says more.",
        pages.NOT_USABLE,
    )
    DOMAIN = (
        "domain",
        "The e-mail domain, or the `hd` of Google, is not among the provider's `domains`; or the "
        "provider told no address, and none of these domains was proved for the identity before.",
        pages.DOMAIN,
    )
    ENDED = (
        "ended",
        "The page after a return, or a mailed link, was used before or has expired.",
        pages.ENDED,
    )
    EXPIRED = (
        "expired",
        "The ID token has expired, or does not say when. Compare the clocks of both machines.",
        pages.NOT_USABLE,
    )
    ID_TOKEN = "id_token", "There is no ID token, or it cannot be parsed.", pages.NOT_USABLE
    ISSUED_AT = (
        "issued_at",
        "The ID token was issued more than 60 seconds ahead of our clock, or does not say when. "
        "Compare the clocks of both machines.",
        pages.NOT_USABLE,
    )
    ISSUER = "issuer", "The ID token is of another issuer.", pages.NOT_USABLE
    KEY = "key", "The provider's keys have none for this ID token.", pages.NO_ANSWER
    LINKED_TO_ANOTHER_USER = (
        "linked_to_another_user",
        "The identity is linked to another user.",
        pages.TAKEN,
    )
    LINK_IN_OTHER_BROWSER = (
        "link_in_other_browser",
        "The page or the mailed link was opened in another browser than the one that began.",
        pages.LINK_IN_OTHER_BROWSER,
    )
    NO_CODE = "no_code", "The return has neither a code nor an error.", pages.NOT_OURS
    NO_EMAIL = "no_email", "The provider told no e-mail address that can be used.", pages.NO_EMAIL
    NONCE = "nonce", "The nonce of the ID token is not that of this start.", pages.NOT_USABLE
    NONCE_MISSING = (
        "nonce_missing",
        "The ID token has no `nonce`, though the request had one. OpenID Connect Core 1.0, section "
        "2, requires it, and without it a token of another sign-in could be played back: this "
        "provider cannot be used.",
        pages.NOT_USABLE,
    )
    NOT_BEFORE = (
        "not_before",
        "The ID token is not valid yet: `nbf` is more than 60 seconds ahead of our clock, or no "
        "time. Compare the clocks of both machines.",
        pages.NOT_USABLE,
    )
    NOT_LINKED = (
        "not_linked",
        "The identity is not one of the signed-in user's, so it confirms nothing.",
        pages.NOT_LINKED,
    )
    NOT_RECENT = (
        "not_recent",
        "The provider told no `auth_time`, or one of 10 minutes ago or earlier, so the return is "
        "not a proof for a sensitive change.",
        pages.NOT_RECENT,
    )
    NOT_VOUCHED_FOR = (
        "not_vouched_for",
        "The provider has `domains`, and told no verified address of them at this return, so it "
        "confirms nothing.",
        pages.NOT_VOUCHED_FOR,
    )
    OTHER_BROWSER = (
        "other_browser",
        "The browser has not the cookie with which this way began: it is another one, it takes no "
        "cookies, or it was led here by another site (login CSRF).",
        pages.OTHER_BROWSER,
    )
    OTHER_PROVIDER = (
        "other_provider",
        "The way began with another provider than the one whose path was called, or the "
        "parameter `iss` names another issuer (mix-up).",
        pages.NOT_OURS,
    )
    PROFILE = (
        "profile",
        "The provider's answer about the person is not usable.",
        pages.NOT_USABLE,
    )
    PROFILE_SUBJECT = (
        "profile_subject",
        "The profile is of another subject than the ID token.",
        pages.NOT_USABLE,
    )
    PROVIDER_BUSY = (
        "provider_busy",
        "The provider came back with an error that may pass: `server_error` or "
        "`temporarily_unavailable`.",
        pages.NO_ANSWER,
    )
    PROVIDER_ERROR = (
        "provider_error",
        "The provider came back with an error that is not a cancellation. What it says of it is in "
        "`error` and `description`.",
        pages.PROVIDER_ERROR,
    )
    REGISTRATION_CLOSED = (
        "registration_closed",
        "The identity is unknown, and `registration`, `create` or `registration-domains` lets no "
        "user register with it.",
        pages.CLOSED,
    )
    SIGNATURE = "signature", "The signature of the ID token is wrong.", pages.NOT_USABLE
    SIGNED_OUT = (
        "signed_out",
        "The browser session in which this way began, to link or to confirm, has ended.",
        pages.SIGNED_OUT,
    )
    STATE = "state", "The parameter `state` is missing or was changed.", pages.NOT_OURS
    SUBJECT = (
        "subject",
        "The provider told no subject, or one of more than 255 characters.",
        pages.NOT_USABLE,
    )
    SUBJECT_TYPE = (
        "subject_type",
        "The provider told a subject (`sub`) that is not a text, such as a number. OpenID Connect "
        'Core 1.0, section 2, requires a text: 12345 and "12345" must not become one person.',
        pages.NOT_USABLE,
    )
    TENANT = "tenant", "The directory (`tid`) is not among the provider's `tenants`.", pages.TENANT
    TOKEN = (
        "token",
        "The token endpoint of the provider rejected us. Check `client-id` and `client-secret`; "
        "what it says is in `error` and `description`.",
        pages.NOT_USABLE,
    )
    TOKEN_TYPE = (
        "token_type",
        "The token that came as the ID token is of another kind: its `typ` is not `JWT`.",
        pages.NOT_USABLE,
    )
    TOO_OLD = "too_old", "The return came more than 10 minutes after the start.", pages.TOO_OLD
    UNREACHABLE = (
        "unreachable",
        "The provider could not be reached or did not answer in time, or its answer was too long "
        "or not JSON.",
        pages.NO_ANSWER,
    )
    USED = "used", "The return was used before.", pages.USED


class ProviderRefused(ApiError):
    """A way to a provider ends here. ``reason`` is the `ProviderFailure`, also for the audit.

    ``subject``: whom the provider told, if it came to that; a caller stores only its hash.
    ``cause``: what is wrong with the provider's answer, for operators. ``facts``: what else log and
    audit trail say, such as `sent` and `expected`; never an address or a subject. ``next``: the
    checked page of the sign-in, once that is known; another try or another way leads there, too.
    ``signed_in``: the way began on a page of the account, and leads back there.
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
