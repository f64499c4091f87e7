"""The definition of every setting: name, type, parser, default; see ``docs/settings.md``."""

# ruff: noqa: RUF009  `setting` returns a dataclass field, not a shared default

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any, Literal, TypeVar, cast

from . import service_urls, urls, values
from .domains import domains
from .durations import CENTURY, duration, duration_or_forever
from .secret import Secret, audit_keys, key_in_hex, sealing_keys, strong_secret, strong_secrets

T = TypeVar("T")
PREFIX = "authsite."
_METADATA = "authsite.definition"


@dataclass(frozen=True, slots=True)
class Definition:
    """One setting: its key, parser and default.

    ``parse`` raises `ValueError` with what is accepted. ``default`` is text that ``parse`` accepts,
    or None. ``missing`` makes the setting required and says how to get a value.
    """

    parse: Callable[[str], object]
    default: str | None = None
    key: str = ""  # as documented
    secret: bool = False  # hidden, and readable from a file (AUTHSITE_<KEY>_FILE)
    variable: str | None = None  # environment variable that Apiato uses
    missing: str | None = None


def setting(
    parse: Callable[[str], T],
    default: str,
    *,
    key: str = "",
    secret: bool = False,
    variable: str | None = None,
) -> T:
    """A field with a default; mypy checks the parser against the type of the field."""
    definition = Definition(parse, default, key=key, secret=secret, variable=variable)
    return cast(T, _field(definition))


def optional(parse: Callable[[str], T], *, key: str = "", secret: bool = False) -> T | None:
    """A field that is None unless it is set."""
    return cast(T, _field(Definition(parse, key=key, secret=secret)))


def required(parse: Callable[[str], T], missing: str, *, secret: bool = False) -> T:
    """A field without a default; ``missing`` says how to get a value."""
    return cast(T, _field(Definition(parse, missing=missing, secret=secret)))


def _field(definition: Definition) -> object:
    return field(metadata={_METADATA: definition})


_LIFETIME = duration(CENTURY, bare_days=True)
_SESSION = duration(timedelta(days=400))  # browsers keep no cookie longer (RFC 6265bis)
_MISSING_SECRET = (
    "run `authsite init`, which writes one to the environment file, or put the"
    " output of `authsite secret new` into the variable AUTHSITE_SECRET"
)


@dataclass(frozen=True, slots=True)
class ProxyClient:
    """The credentials that a proxy endpoint adds for one first-party client."""

    id: str
    secret: Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, checked. An attribute is the key with ``_`` for ``-`` and ``.``."""

    production: bool = setting(values.boolean, "false")

    # Keys and storage
    secret: tuple[Secret, ...] = required(strong_secrets, _MISSING_SECRET, secret=True)
    secret_next: tuple[Secret, ...] = setting(strong_secrets, "", secret=True)
    sealing_key: tuple[Secret, ...] = setting(sealing_keys, "", secret=True)
    sealing_key_next: tuple[Secret, ...] = setting(sealing_keys, "", secret=True)
    database_url: Secret = setting(
        service_urls.database_url, "sqlite:///var/authsite.sqlite", secret=True
    )

    # Addresses and login
    base_url: tuple[str, ...] = setting(urls.base_urls, "")
    trusted_proxies: values.TrustedProxies = setting(values.trusted_proxies, "")
    variant: Literal["A", "B"] = setting(values.variant, "A")
    login_page_url: str = setting(urls.login_page, "login")
    login_identifiers: tuple[str, ...] = setting(values.identifiers, "email")
    phone_region: str | None = optional(values.region)

    # Tokens and first-party clients
    expires_in: timedelta = setting(_LIFETIME, "3650", variable="API_TOKEN_EXPIRES")
    refresh_expires_in: timedelta = setting(_LIFETIME, "3650", variable="API_REFRESH_TOKEN_EXPIRES")
    refresh_grace: timedelta = setting(duration(timedelta(hours=1), zero=True), "10s")
    family_lifetime: timedelta | None = optional(duration(CENTURY))
    guard_cache: timedelta = setting(duration(timedelta(seconds=60), zero=True), "0s")
    scopes: Mapping[str, str] = setting(values.scopes, "")
    personal_token_scopes: tuple[str, ...] = setting(values.list_of(values.scope), "")
    clients: Mapping[str, ProxyClient]  # from `clients.<name>.id` and `clients.<name>.secret`

    # E-mail addresses and passwords
    require_email_verification: bool = setting(
        values.boolean, "true", key="require_email_verification"
    )
    require_email_confirmation: bool = setting(
        values.boolean, "false", key="require_email_confirmation"
    )
    allowed_verify_email_urls: tuple[str, ...] = setting(urls.web_urls, "")
    allowed_reset_password_urls: tuple[str, ...] = setting(urls.web_urls, "")
    users_reset_password_url: str | None = optional(urls.web_url, key="users.reset-password-url")
    users_confirm_email_url: str | None = optional(urls.web_url, key="users.confirm-email-url")
    verification_expires_in: timedelta = setting(duration(timedelta(days=30)), "60m")
    reset_expires_in: timedelta = setting(duration(timedelta(days=1)), "60m")
    email_revert_expires_in: timedelta = setting(duration(timedelta(days=30), zero=True), "72h")
    email_revert_min_age: timedelta = setting(duration(timedelta(days=365), zero=True), "7d")
    bcrypt_cost: int = setting(values.integer(10, 16), "12")
    hash_threads: int | None = optional(values.integer(1, 64))
    password_min_length: int = setting(values.integer(8, 128), "8")
    password_breach_check: str | None = setting(urls.range_service, "off")
    password_pepper: tuple[Secret, ...] = setting(strong_secrets, "", secret=True)
    password_pepper_next: tuple[Secret, ...] = setting(strong_secrets, "", secret=True)
    prevent_enumeration: bool = setting(values.boolean, "false")

    # Pages and browsers
    languages: tuple[str, ...] = setting(values.languages, "")
    site_name: str = setting(values.single_line(60), "authsite")
    site_logo: str | None = optional(urls.logo)
    site_icon: str | None = optional(urls.icon)
    accent_color: str | None = optional(values.color)
    font: str | None = optional(values.font)
    corner_radius: str | None = optional(values.corner_radius)
    footer_links: Mapping[str, str] = setting(urls.footer_links, "")
    support_url: str | None = optional(urls.link)
    terms_url: str | None = optional(urls.terms)
    translated: Mapping[str, Mapping[str, Any]]  # from `<key>.<language>`, see `localized`
    static_folder: str | None = optional(values.single_line(1024))
    templates_folder: str | None = optional(values.single_line(1024))
    return_origins: tuple[str, ...] = setting(urls.origins, "")
    cors_origins: tuple[str, ...] = setting(urls.cors_origins, "")
    session_cookie_domain: str | None = optional(urls.cookie_domain)
    hsts: Literal["host", "subdomains", "off"] | None = optional(values.hsts)

    session_idle: timedelta = setting(_SESSION, "12h")
    session_lifetime: timedelta = setting(_SESSION, "30d")
    session_remember: timedelta = setting(_SESSION, "90d")
    registration: Literal["on", "off", "domains"] = setting(values.registration, "on")
    registration_domains: tuple[str, ...] = setting(domains, "")
    registration_fields: tuple[str, ...] = setting(values.registration_fields, "")
    apiato_errors: bool = setting(values.boolean, "off")
    docs_page: bool = setting(values.boolean, "on")
    app_page: bool = setting(values.boolean, "on")

    # Mail
    new_device_notices: bool = setting(values.boolean, "on")
    mail_driver: Literal["log", "smtp", "file"] = setting(values.mail_driver, "log")
    # `load` replaces localhost by the host of base-url.
    mail_from: str = setting(values.mail_address, "no-reply@localhost")
    smtp_url: Secret = setting(service_urls.smtp_url, "smtp://localhost:25", secret=True)
    mail_folder: str = setting(values.single_line(1024), "var/mail")
    mail_sender: Literal["thread", "none"] | None = optional(values.mail_sender)
    mail_log_in_production: bool = setting(values.boolean, "false")

    # Limits and operations
    log_requests: bool = setting(values.boolean, "on")
    tracing: bool = setting(values.boolean, "off")
    metrics_token: Secret | None = optional(strong_secret, secret=True)
    limits: bool = setting(values.boolean, "on")
    limit_values: Mapping[str, str]  # from `limits.<name>`, with the defaults filled in
    limits_key: Secret | None = setting(key_in_hex, "", secret=True)
    limits_storage: Secret = setting(service_urls.limits_storage, "database", secret=True)
    audit_keep: timedelta | None = setting(duration_or_forever(CENTURY), "365d")
    audit_key: tuple[Secret, ...] = setting(audit_keys, "", secret=True)
    janitor: bool | None = optional(values.boolean)

    def localized(self, name: str, language: str) -> Any:
        """The value of a setting of `LOCALIZED` for ``language``, else the one for all."""
        return self.translated.get(name, {}).get(language, getattr(self, name))

    @property
    def registration_open(self) -> bool:
        """Whether there is a registration page and endpoint."""
        return self.registration != "off"

    @property
    def confirmation_required(self) -> bool:
        """Whether a user may do nothing before the e-mail address is confirmed.

        Variant B requires it if it is so set, and `registration = domains` in both variants: an
        address that is not confirmed says nothing about its domain.
        """
        forced = self.variant == "B" and self.require_email_confirmation
        return forced or self.registration == "domains"

    @property
    def confirms_as_in_variant_b(self) -> bool:
        """Whether the links, mails and errors about an unconfirmed address are those of Variant B.

        In Variant A they are, too, where confirmation is required: a user who cannot log in asks
        for the link without a token.
        """
        return self.variant == "B" or self.confirmation_required


# The settings that may have a value for each language.
LOCALIZED = ("footer_links", "support_url", "terms_url")

DEFINITIONS: Mapping[str, Definition] = {
    each.name: replace(definition, key=PREFIX + (definition.key or each.name.replace("_", "-")))
    for each in fields(Settings)
    if (definition := each.metadata.get(_METADATA))
}
