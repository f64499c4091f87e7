"""Whom a provider told, and how far we believe what it says about the e-mail address.

Microsoft Entra's `email` is free text, which anyone with a directory may set (nOAuth); a provider
that says nothing about an address has not verified it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from authsite.platform.runtime import clock
from authsite.platform.runtime.lines import as_one_line
from authsite.platform.settings import Settings, mail_domain
from authsite.platform.settings.sections.providers import Provider
from authsite.sign_in.identifiers import InvalidIdentifier, parse_identifier

from .exchange import Exchange, seconds_in, text_in
from .failures import AddressDoubt, ProviderFailure, ProviderRefused
from .values import ProvidedIdentity

AHEAD = timedelta(seconds=60)  # that the provider's clock may be ahead of ours
LONGEST_NAME = 255  # characters
GMAIL = "gmail.com"


class Person(NamedTuple):
    """A person as a provider describes them, after the checks of its answers.

    ``verified``: the provider says that it has verified ``email``. ``authority``: it says that the
    domain of the address is that of the person's organization, which the provider knows.
    ``said``: what it says about whether the address is verified; None if it says nothing.
    ``hosted``: the claim ``hd`` of Google.
    """

    issuer: str
    subject: str
    email: str | None = None
    verified: bool = False
    authority: bool = False
    said: bool | None = None
    hosted: str | None = None
    name: str | None = None
    auth_time: datetime | None = None


def person_of(provider: Provider, claims: Mapping[str, Any], profile: Mapping[str, Any]) -> Person:
    """The person of an ID token, and of the profile of the same subject."""
    address = _about_address(claims, profile)
    email = usable_address(text_in(address, "email"))
    hosted = text_in(claims, "hd") or text_in(profile, "hd")
    of_organization = email is not None and _domain_of(email) == _domain(hosted)
    said = _said(address.get("email_verified"), "true")
    verified = said is True
    match provider.preset:
        case "google":
            authority = verified and of_organization
            verified = authority or (verified and _domain_of(email) == GMAIL)
        case "microsoft":
            owner_verified = _said(address.get("xms_edov"), "true", "1")
            authority = verified = owner_verified is True
            # Entra has no `email_verified`: that is counted where it speaks against the address.
            said = owner_verified if owner_verified is not None or said else said
        case _:
            authority = False
    return Person(
        issuer=claims["iss"],
        subject=claims["sub"],
        email=email,
        verified=verified,
        authority=authority,
        said=said,
        hosted=hosted,
        name=usable_name(text_in(claims, "name") or text_in(profile, "name")),
        auth_time=_auth_time(claims),
    )


def provided_identity(settings: Settings, provider: Provider, person: Person) -> ProvidedIdentity:
    """What is passed on of a person: trusted or not, and allowed.

    Raises `ProviderRefused` if the domain that the provider tells is not among its `domains`.
    """
    domain = _domain_of(person.email)
    allowed = _allowed(provider, person)
    if allowed is False:
        sent = person.hosted if provider.preset == "google" else domain
        raise ProviderRefused(
            ProviderFailure.DOMAIN,
            provider,
            subject=person.subject,
            details={"sent": sent or "nothing", "expected": " ".join(provider.domains)},
        )
    protected = domain in (*settings.registration_domains, *provider.domains)
    may_say = provider.trust_email and (
        not protected or person.authority or provider.domain_authority
    )
    return ProvidedIdentity(
        provider=provider.name,
        issuer=person.issuer,
        subject=person.subject,
        email=person.email,
        trusted=person.email is not None and person.verified and may_say,
        name=person.name,
        allowed=allowed,
        auth_time=person.auth_time,
        vouched=_is_vouched_for(provider, person, allowed=allowed is True),
        doubt=_doubt(person),
    )


def is_allowed(provider: Provider, email: str) -> bool:
    """Whether `domains` allows an address that was proved, where `allowed` is None."""
    return not provider.domains or _domain_of(email) in provider.domains


def _allowed(provider: Provider, person: Person) -> bool | None:
    if not provider.domains:
        return True
    if provider.preset == "google":
        return _domain(person.hosted) in provider.domains
    return None if person.email is None else is_allowed(provider, person.email)


def _is_vouched_for(provider: Provider, person: Person, *, allowed: bool) -> bool:
    """Whether the provider says now that the person has an address of its `domains`.

    Silence about whether it is verified suffices of a directory of these domains alone
    (`domain-authority`), which a person who left does not tell the address of any more.
    """
    if not provider.domains:
        return True
    said = person.said is True or (person.said is None and provider.domain_authority)
    return allowed and person.email is not None and said


def _doubt(person: Person) -> AddressDoubt:
    """Why the address would have to be proved by a mail."""
    if person.email is None:
        return AddressDoubt.NO_ADDRESS
    if person.said is None:
        return AddressDoubt.NOT_SAID
    return AddressDoubt.NOT_TRUSTED if person.said else AddressDoubt.UNVERIFIED


def _said(value: object, *yes: str) -> bool | None:
    """What a claim says that is true or false; None for nothing.

    Amazon Cognito writes ``email_verified`` as the text "true", and Microsoft Entra ``xms_edov`` as
    "1". ``yes``: the texts that count; whatever else there is does not verify an address.
    """
    if value is None:
        return None
    return value is True or value in yes


def _about_address(claims: Mapping[str, Any], profile: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where to read the address and all that is said about it: one source, never a mixture.

    The ID token counts first. If it says nothing about whether its address was verified, the
    profile may say so of the same address.
    """
    if text_in(claims, "email") is None:
        return profile
    if claims.get("email_verified") is None and _is_same(profile.get("email"), claims["email"]):
        return {**claims, "email_verified": profile.get("email_verified")}
    return claims


def _is_same(value: object, address: str) -> bool:
    return isinstance(value, str) and value.lower() == address.lower()


def _auth_time(claims: Mapping[str, Any]) -> datetime | None:
    """When the person proved to be who they are; a time far ahead of ours counts as none."""
    seconds = seconds_in(claims, "auth_time")
    at = None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return at if at and at <= clock.now() + AHEAD else None


def usable_address(text: str | None) -> str | None:
    """An e-mail address as we would store it; None for other text."""
    try:
        return parse_identifier("email", text or "").display
    except InvalidIdentifier:
        return None


def usable_name(text: str | None) -> str | None:
    """A name in one line; None if nothing is left."""
    return (as_one_line(text) or "")[:LONGEST_NAME].strip() or None


def _domain_of(email: str | None) -> str | None:
    """The domain of a usable address, in its canonical form."""
    return email.rpartition("@")[2].lower() if email else None


def _domain(text: str | None) -> str | None:
    """A domain in its canonical form; None for other text."""
    try:
        return mail_domain(text) if text else None
    except ValueError:
        return None


# GitHub: OAuth 2.0 without OpenID Connect, and its REST API.
#
# "Authorizing OAuth apps" and "REST API endpoints for users" and "… for emails":
# https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps,
# https://docs.github.com/en/rest/users/users, https://docs.github.com/en/rest/users/emails


PUBLIC: Final = "https://github.com"
_ACCEPT: Final = "application/vnd.github+json"


def authorization_endpoint(provider: Provider) -> str:
    """Where the browser goes; also of GitHub Enterprise."""
    return f"{_site(provider)}/login/oauth/authorize"


def token_endpoint(provider: Provider) -> str:
    """Where a code is redeemed."""
    return f"{_site(provider)}/login/oauth/access_token"


def issuers(provider: Provider) -> tuple[str, ...]:
    """What a return may name as ``iss``: the setting, or the issuer of GitHub's own metadata."""
    return provider.issuer, f"{_site(provider)}/login/oauth"


def github_person(exchange: Exchange, access_token: str) -> Person:
    """The person of an access token. Raises `ProviderRefused`."""
    provider = exchange.provider
    site = _site(provider)
    api = "https://api.github.com" if site == PUBLIC else f"{site}/api/v3"
    user = exchange.profile(f"{api}/user", access_token, _ACCEPT)
    if not isinstance(user, dict):
        raise ProviderRefused(
            ProviderFailure.PROFILE, provider, cause=f"{api}/user has no JSON object for us"
        )
    number = user.get("id")
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 2**63:
        raise ProviderRefused(
            ProviderFailure.SUBJECT, provider, cause=f"{api}/user has no positive integer as `id`"
        )
    addresses = exchange.profile(f"{api}/user/emails?per_page=100", access_token, _ACCEPT)
    email = usable_address(_primary(addresses))
    return Person(
        issuer=provider.issuer,
        subject=str(number),
        email=email,
        verified=email is not None,
        said=True if email else None,
        name=usable_name(text_in(user, "name") or text_in(user, "login")),
    )


def _primary(addresses: Any) -> str | None:
    """The primary address, if it is verified. The list is missing without the scope for it."""
    found = addresses if isinstance(addresses, list) else []
    rows = [each for each in found if isinstance(each, dict) and each.get("primary") is True]
    verified = (text_in(each, "email") for each in rows if each.get("verified") is True)
    return next(verified, None)


def _site(provider: Provider) -> str:
    return provider.issuer.rstrip("/")
