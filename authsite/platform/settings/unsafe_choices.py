"""The choices that are unsafe in production (OWASP ASVS 5.0, V13 Configuration), in one table."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib.util import find_spec

from .cleartext import password_without_tls, unencrypted, unencrypted_rule
from .definitions import DEFINITIONS, Settings
from .errors import InvalidSetting
from .rate_limits import RATE_LIMITS, per_second
from .rules import (
    AGENT_RULES,
    NAMED,
    PASSKEY_RULES,
    REFUSED,
    REQUIRED,
    START,
    WARNED,
    WARNED_LATER,
    Level,
    Rule,
    subject,
)
from .secret import is_guessable
from .values import format_duration

_DAY, _YEAR = timedelta(days=1), timedelta(days=365)
_LOOSE = 10  # times the default of a limit


def broken_rules(settings: Settings, *levels: Level) -> Iterator[InvalidSetting]:
    """An error for each rule of these levels that the settings break."""
    for rule in RULES:
        if rule.level in levels and (found := rule.found(settings)):
            in_message = "{found}" in rule.message
            value = repr(found) if isinstance(found, str) and not in_message else None
            yield InvalidSetting(rule.key, rule.message.format(found=found), value=value)


def _over(
    attribute: str, least: timedelta, most: timedelta | None = None
) -> Callable[[Settings], str]:
    """Finds a duration of more than ``least`` and at most ``most``; returns it as ``15m``."""

    def found(settings: Settings) -> str:
        span: timedelta = getattr(settings, attribute)
        return format_duration(span) if span > least and (most is None or span <= most) else ""

    return found


def _short_audit_keep(settings: Settings) -> str:
    """An ``audit-keep`` of less than 30 days, as ``15m``."""
    span = settings.audit_keep
    return format_duration(span) if span is not None and span < 30 * _DAY else ""


def _loose_limits(settings: Settings) -> str:
    """The names of the limits that allow more than `_LOOSE` times their default."""
    return " ".join(
        name
        for name, value in settings.limit_values.items()
        if value != RATE_LIMITS[name].default
        and per_second(value) > _LOOSE * per_second(RATE_LIMITS[name].default)
    )


def _guessable_sealing_keys(settings: Settings) -> bool:
    """Whether one of the keys looks like a sample value."""
    keys = (*(settings.sealing_key or ()), *(settings.sealing_key_next or ()))
    return any(is_guessable(each.reveal().lower()) for each in keys)


def _opentelemetry_installed() -> bool:
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:  # one of the packages around it
        return False


RULES: tuple[Rule, ...] = (
    Rule(
        "smtp-without-base-url",
        "base_url",
        lambda s: s.mail_driver == "smtp" and not s.base_url,
        "it is not set, and mail-driver is smtp: the Host header of a request would decide where"
        " the links in mails lead. Give our own address, as AUTHSITE_BASE_URL",
        START,
    ),
    Rule(
        "tracing-without-opentelemetry",
        "tracing",
        lambda s: s.tracing and not _opentelemetry_installed(),
        "OpenTelemetry is not installed: install the package authsite[opentelemetry], or set it"
        " to off",
        START,
    ),
    Rule(
        "openid-incomplete",
        "openid",
        lambda s: s.openid and s.openid_obstacle,
        "it is on, but {found}: set that, or set openid to off",
        START,
    ),
    Rule(
        "production-off",
        "production",
        lambda s: not s.production,
        "set to true, so that authsite refuses to start with unsafe settings",
        NAMED,
    ),
    Rule(
        "base-url-unset",
        "base_url",
        lambda s: not s.base_url,
        "it is not set; production needs our own address, which links in mails begin with; give it,"
        " e.g. https://auth.example.org, as AUTHSITE_BASE_URL",
        REQUIRED,
    ),
    Rule(
        "base-url-plain",
        "base_url",
        lambda s: unencrypted(s.base_url),
        "production needs https, since passwords and tokens travel (http only on localhost), not"
        " {found}",
        REFUSED,
    ),
    *PASSKEY_RULES,
    *AGENT_RULES,
    Rule(
        "sealing-key-unset",
        "sealing_key",
        lambda s: not s.sealing_key,
        "it is not set, so the key derives from secret, and what is sealed is lost with it: run"
        " `authsite init`, which adds one to the environment file, or says where to copy it from",
        WARNED,
    ),
    Rule(
        "sealing-key-guessable",
        "sealing_key",
        _guessable_sealing_keys,
        "a key is a sample value or easily guessed: take the output of `authsite secret new"
        " --sealing-key`",
        REFUSED,
    ),
    Rule(
        "database-sqlite",
        "database_url",
        lambda s: s.database_url.reveal().startswith("sqlite"),
        "SQLite serves one machine; PostgreSQL serves many",
        NAMED,
    ),
    Rule(
        "mail-log",
        "mail_driver",
        lambda s: s.mail_driver == "log" and not s.mail_log_in_production and "log",
        "the log driver writes links with tokens into the log and sends nothing; give smtp and"
        " smtp-url, or set authsite.mail-log-in-production = true if that is what you want",
        REQUIRED,
    ),
    Rule(
        "mail-log-forced",
        "mail_log_in_production",
        lambda s: s.mail_driver == "log" and s.mail_log_in_production,
        "mails are written to the log, with links that open accounts: set mail-driver to smtp",
        WARNED,
    ),
    Rule(
        "mail-file",
        "mail_driver",
        lambda s: s.mail_driver == "file",
        "the file driver sends nothing: give smtp and smtp-url",
        NAMED,
    ),
    Rule(
        "smtp-url-unset",
        "smtp_url",
        lambda s: (
            s.mail_driver == "smtp" and s.smtp_url.reveal() == DEFINITIONS["smtp_url"].default
        ),
        "it is not set, so mails go to localhost:25: give the mail server, as AUTHSITE_SMTP_URL"
        " (smtp://localhost if one runs on this machine)",
        NAMED,
    ),
    Rule(
        "smtp-password-in-clear",
        "smtp_url",
        password_without_tls,
        "it does not say how the connection to {found} is encrypted, and without TLS and a verified"
        " certificate the password is not sent: add ?starttls=1 or give smtps://",
        REFUSED,
    ),
    *(
        unencrypted_rule(attribute, "links with tokens, and what is typed at their end,")
        for attribute in (
            "allowed_verify_email_urls",
            "allowed_reset_password_urls",
            "users_reset_password_url",
            "users_confirm_email_url",
        )
    ),
    unencrypted_rule("login_page_url", "passwords"),
    unencrypted_rule("return_origins", "sessions of the users who come back"),
    unencrypted_rule("password_breach_check", "the first characters of hashes of passwords"),
    unencrypted_rule("cors_origins", "tokens of these applications"),
    Rule(
        "trusted-proxies-any",
        "trusted_proxies",
        lambda s: s.trusted_proxies == ("*",),
        "any peer that reaches the port can claim any client address: list the addresses of your"
        " proxies",
        WARNED,
    ),
    Rule(
        "trusted-proxies-unset",
        "trusted_proxies",
        lambda s: any(url.startswith("https://") for url in s.base_url) and not s.trusted_proxies,
        "it is not set though base-url is https: behind a proxy all users have its address and"
        " share one limit. Give the addresses of your proxies, e.g. 127.0.0.1",
        NAMED,
    ),
    *(
        rule
        for attribute, usual, most in (
            ("expires_in", "60m", _DAY),
            ("refresh_expires_in", "30d", 90 * _DAY),
        )
        for rule in (
            Rule(
                f"{subject(attribute)}-years",
                attribute,
                _over(attribute, _YEAR - timedelta(seconds=1)),
                "a stolen token stays valid for {found}; "
                + usual
                + ", as in production.ini, is usual",
                WARNED_LATER,
            ),
            Rule(
                f"{subject(attribute)}-long",
                attribute,
                _over(attribute, most, _YEAR - timedelta(seconds=1)),
                "a stolen token stays valid for {found}; " + usual + " is usual",
                NAMED,
            ),
        )
    ),
    Rule(
        "refresh-grace-long",
        "refresh_grace",
        _over("refresh_grace", timedelta(minutes=1)),
        "a stolen refresh token can be used for {found} beside the real one, unnoticed: 10s is"
        " usual, 60s the most",
        WARNED,
    ),
    Rule(
        "reset-expires-in-long",
        "reset_expires_in",
        _over("reset_expires_in", timedelta(hours=1)),
        "a reset link in a mailbox opens the account for {found}: 60m is usual",
        WARNED,
    ),
    Rule(
        "verification-expires-in-long",
        "verification_expires_in",
        _over("verification_expires_in", _DAY),
        "a verification link works for {found}: 60m is usual, 24h the most",
        WARNED,
    ),
    Rule(
        "bcrypt-cost-low",
        "bcrypt_cost",
        lambda s: s.bcrypt_cost < 12,
        "stolen password hashes are guessed faster: 12 or more",
        NAMED,
    ),
    Rule(
        "limits-off",
        "limits",
        lambda s: not s.limits,
        "off is for load measurements: passwords can be guessed without a limit",
        WARNED,
    ),
    Rule(
        "limits-loose",
        "limits",
        _loose_limits,
        f"more than {_LOOSE} times the default protects nothing; lower {{found}}",
        WARNED,
    ),
    Rule(
        "limits-storage-memory",
        "limits_storage",
        lambda s: s.limits_storage.reveal() == "memory",
        "each process counts for itself and forgets at a restart: give database or redis://…",
        WARNED,
    ),
    Rule(
        "audit-keep-short",
        "audit_keep",
        _short_audit_keep,
        "audit events are deleted after {found}, too early to investigate: give 30d or more (365d"
        " is the default)",
        WARNED,
    ),
)
