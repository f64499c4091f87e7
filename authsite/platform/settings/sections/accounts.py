"""The settings of *E-mail addresses and passwords* in ``docs/settings.md``."""

from dataclasses import dataclass
from datetime import timedelta

from authsite.platform.settings import urls, values
from authsite.platform.settings.definition import optional, setting
from authsite.platform.settings.secret import Secret, strong_secrets
from authsite.platform.settings.values import CENTURY, duration, duration_or


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """E-mail addresses and passwords."""

    require_email_verification: bool = setting(
        values.boolean,
        "true",
        key="require_email_verification",
        text="Variant A: a route with `verified=True` accepts only users with a confirmed address."
        " If false, `verified` is ignored.",
    )
    require_email_confirmation: bool = setting(
        values.boolean,
        "false",
        key="require_email_confirmation",
        text="Variant B: if true, a user without a confirmed address cannot log in. `registration"
        " = domains` requires it in both variants.",
    )
    allowed_verify_email_urls: tuple[str, ...] = setting(
        urls.web_urls,
        "",
        text="List of pages to which a verification link may lead, compared character by"
        " character. Default: authsite's own page.",
    )
    allowed_reset_password_urls: tuple[str, ...] = setting(
        urls.web_urls,
        "",
        text="Variant A: list of pages to which a reset link may lead, compared character by"
        " character. Default: authsite's own page.",
    )
    users_reset_password_url: str | None = optional(
        urls.web_url,
        key="users.reset-password-url",
        text="Variant B: the page to which a reset link leads. Default: authsite's own page.",
    )
    users_confirm_email_url: str | None = optional(
        urls.web_url,
        key="users.confirm-email-url",
        text="Variant B: the page to which a confirmation link leads. Default: authsite's own"
        " page.",
    )
    verification_expires_in: timedelta = setting(
        duration(timedelta(days=30)),
        "60m",
        text="How long a verification link works, at most 30 days.",
    )
    purge_unconfirmed: timedelta | None = setting(
        duration_or("off", CENTURY),
        "off",
        text="After what time an account is erased that someone registered, and that no one has"
        " ever confirmed or signed in to; users in groups stay. `off`: never. Such accounts hold"
        " addresses of people who may not know of them: `30d` is a good value.",
    )
    reset_expires_in: timedelta = setting(
        duration(timedelta(days=1)),
        "60m",
        text="How long a reset link works, at most a day.",
    )
    email_revert_expires_in: timedelta = setting(
        duration(timedelta(days=30), zero=True),
        "72h",
        text="How long a change of address can be taken back from the former address, if that was"
        " confirmed; at most 30 days, `0s`: not at all. Until then no other account can take the"
        " former address. See [mail](mail.md#a-change-of-address).",
    )
    email_revert_min_age: timedelta = setting(
        duration(timedelta(days=365), zero=True),
        "7d",
        text="How long the former address must have been confirmed, when the change was requested,"
        " for the change to be taken back; at most 365 days. With `0s` a person who registers an"
        " account and changes its address to that of another person can take the account back"
        " after that person has begun to use it.",
    )
    hash_threads: int | None = optional(
        values.integer(1, 64),
        text="How many passwords one process hashes at the same time; by default one for each"
        " core.",
    )
    bcrypt_cost: int = setting(
        values.integer(10, 16),
        "12",
        text="The cost of one password hash, 10 to 16; each step doubles it. A login replaces a"
        " hash with a lower cost.",
    )
    password_min_length: int = setting(
        values.integer(8, 128),
        "8",
        text="The shortest password in characters, 8 to 128.",
    )
    password_breach_check: str | None = setting(
        urls.range_service,
        "off",
        text="`on`: a new password must not be in [Pwned"
        " Passwords](https://haveibeenpwned.com/Passwords), a list of passwords from data"
        " breaches; or the URL of another service with the same interface. See [breached"
        " passwords](#breached-passwords).",
    )
    password_pepper: tuple[Secret, ...] = setting(
        strong_secrets,
        "",
        secret=True,
        text="Part of every password hash: if it is lost, no password works any more, so back it"
        " up as carefully as the database. Of several, separated by spaces, new hashes use the"
        " first one, and all verify.",
    )
    password_pepper_next: tuple[Secret, ...] = setting(
        strong_secrets,
        "",
        secret=True,
        text="Accepted in checks, and not used for new hashes yet; one or several. `authsite"
        " secret rotate --pepper` writes it.",
    )
    prevent_enumeration: bool = setting(
        values.boolean,
        "false",
        text="If true, neither registering nor logging in reveals whether an e-mail address is"
        " registered. See [what it hides](#what-prevent-enumeration-hides).",
    )
