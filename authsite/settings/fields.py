"""Every setting: its name, type, parser and default. ``docs/settings.md`` explains each."""

# ruff: noqa: RUF009  `setting` returns a dataclass field, not a shared default

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Literal

from . import services, urls, values
from .declare import KEY, Key, setting
from .durations import CENTURY, duration, duration_or_forever
from .secret import Secret, strong_secrets, visible_secret

_LIFETIME = duration(CENTURY, bare_days=True)
_MISSING = (
    "run `authsite init`, which writes one to the environment file, or put the"
    " output of `authsite secret new` into the variable AUTHSITE_SECRET"
)


@dataclass(frozen=True, slots=True)
class ProxyClient:
    """The credentials that a proxy adds for one first-party client."""

    id: str
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, checked. An attribute is the key with ``_`` for ``-`` and ``.``."""

    production: bool = setting(values.boolean, default="false")

    # Keys and storage
    secret: tuple[Secret, ...] = setting(strong_secrets, missing=_MISSING, secret=True)
    database_url: str = setting(
        services.database_url, default="sqlite:///var/authsite.sqlite", secret=True
    )

    # Where we are
    base_url: str | None = setting(urls.base_url)
    trusted_proxies: values.TrustedProxies = setting(values.trusted_proxies, default="")
    variant: Literal["A", "B"] = setting(values.variant, default="A")
    login_page_url: str = setting(urls.login_page, default="login")
    login_identifiers: tuple[str, ...] = setting(values.identifiers, default="email")
    phone_region: str | None = setting(values.region)

    # Tokens and first-party clients
    expires_in: timedelta = setting(_LIFETIME, default="3650", variable="API_TOKEN_EXPIRES")
    refresh_expires_in: timedelta = setting(
        _LIFETIME, default="3650", variable="API_REFRESH_TOKEN_EXPIRES"
    )
    refresh_grace: timedelta = setting(duration(timedelta(hours=1), zero=True), default="10s")
    scopes: Mapping[str, str] = setting(values.scopes, default="")
    clients: Mapping[str, ProxyClient]  # from `clients.<name>.id` and `clients.<name>.secret`

    # E-mail addresses and passwords
    require_email_verification: bool = setting(
        values.boolean, default="true", name="require_email_verification"
    )
    require_email_confirmation: bool = setting(
        values.boolean, default="false", name="require_email_confirmation"
    )
    allowed_verify_email_urls: tuple[str, ...] = setting(urls.web_urls, default="")
    allowed_reset_password_urls: tuple[str, ...] = setting(urls.web_urls, default="")
    users_reset_password_url: str | None = setting(urls.web_url, name="users.reset-password-url")
    users_confirm_email_url: str | None = setting(urls.web_url, name="users.confirm-email-url")
    verification_expires_in: timedelta = setting(duration(timedelta(days=30)), default="60m")
    reset_expires_in: timedelta = setting(duration(timedelta(days=1)), default="60m")
    bcrypt_cost: int = setting(values.integer(10, 16), default="12")
    hash_threads: int | None = setting(values.integer(1, 64))
    password_min_length: int = setting(values.integer(8, 128), default="8")
    password_pepper: tuple[Secret, ...] = setting(strong_secrets, default="", secret=True)
    prevent_enumeration: bool = setting(values.boolean, default="false")

    # Pages and browsers
    site_name: str = setting(values.line(60), default="authsite")
    site_logo: str | None = setting(urls.logo)
    accent_color: str | None = setting(values.color)
    return_origins: tuple[str, ...] = setting(urls.origins, default="")
    cors_origins: tuple[str, ...] = setting(urls.origins, default="")
    session_cookie_domain: str | None = setting(urls.cookie_domain)

    # Mail
    mail_driver: Literal["log", "smtp", "file"] = setting(values.mail_driver, default="log")
    # `load` takes the host of base-url instead of localhost.
    mail_from: str = setting(values.mail_address, default="no-reply@localhost")
    smtp_url: str = setting(services.smtp_url, default="smtp://localhost:25", secret=True)
    mail_folder: str = setting(values.line(1024), default="var/mail")
    mail_sender: Literal["thread", "none"] | None = setting(values.mail_sender)
    mail_log_in_production: bool = setting(values.boolean, default="false")

    # Limits and operations
    limits: bool = setting(values.boolean, default="on")
    limit_values: Mapping[str, str]  # from `limits.<bucket>`, with the defaults filled in
    limits_storage: str = setting(services.limits_storage, default="database", secret=True)
    audit_keep: timedelta | None = setting(duration_or_forever(CENTURY), default="365d")
    janitor: bool | None = setting(values.boolean)
    metrics_token: str | None = setting(visible_secret, secret=True)


KEYS: Mapping[str, Key] = {
    each.name: each.metadata[KEY] for each in fields(Settings) if KEY in each.metadata
}
