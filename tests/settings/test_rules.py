"""Each rule for production (M10, H7): what breaks it, and where that is said."""

import re

import pytest

from authsite.platform.settings import SettingsError, load, unsafe_choices
from authsite.platform.settings.load import check_start, rule_warnings
from authsite.platform.settings.rules import NAMED, REFUSED, REQUIRED, START, WARNED, WARNED_LATER
from authsite.platform.settings.unsafe_choices import RULES

SECRET = {"AUTHSITE_SECRET": "rA0t3vPqZ9_kWmB7yXn5-cLdE1sFhJ2g"}
SEALING_KEY = "4e1f09c7b2d86a53e9710fbc3da4582616c8e0b97f3d25a1409be6c8d7f21a35"
# Breaks no rule.
FIT = SECRET | {
    "AUTHSITE_PRODUCTION": "true",
    "AUTHSITE_SEALING_KEY": SEALING_KEY,
    "AUTHSITE_BASE_URL": "https://auth.example.org",
    "AUTHSITE_DATABASE_URL": "postgresql://h/d",
    "AUTHSITE_MAIL_DRIVER": "smtp",
    "AUTHSITE_SMTP_URL": "smtp://u:p@mail.example.org?starttls=1",
    "AUTHSITE_TRUSTED_PROXIES": "127.0.0.1",
    "AUTHSITE_EXPIRES_IN": "60m",
    "AUTHSITE_REFRESH_EXPIRES_IN": "30d",
}
OFF = {"AUTHSITE_PRODUCTION": "false"}
BROKEN = {
    "smtp-without-base-url": OFF | {"AUTHSITE_BASE_URL": ""},
    "tracing-without-opentelemetry": {"AUTHSITE_TRACING": "on"},
    "openid-incomplete": OFF | {"AUTHSITE_OPENID": "on", "AUTHSITE_BASE_URL": ""},
    "production-off": OFF,
    "base-url-unset": {"AUTHSITE_BASE_URL": ""},
    "base-url-plain": {"AUTHSITE_BASE_URL": "http://auth.example.org"},
    "passkey-rp-id-wrong": OFF | {"AUTHSITE_PASSKEY_RP_ID": "example.com"},
    "passkeys-off": OFF | {"AUTHSITE_BASE_URL": "https://192.0.2.1"},
    "client-registration-open": {"AUTHSITE_CLIENT_REGISTRATION": "open"},
    "client-id-documents-all": {"AUTHSITE_CLIENT_ID_DOCUMENTS": "*"},
    "sealing-key-unset": {"AUTHSITE_SEALING_KEY": ""},
    "sealing-key-guessable": {"AUTHSITE_SEALING_KEY": f"{SEALING_KEY} {'00' * 32}"},
    "database-sqlite": {"AUTHSITE_DATABASE_URL": "sqlite:///x.sqlite"},
    "mail-log": {"AUTHSITE_MAIL_DRIVER": "log"},
    "mail-log-forced": {"AUTHSITE_MAIL_DRIVER": "log", "AUTHSITE_MAIL_LOG_IN_PRODUCTION": "true"},
    "mail-file": {"AUTHSITE_MAIL_DRIVER": "file"},
    "smtp-url-unset": {"AUTHSITE_SMTP_URL": ""},
    "smtp-password-in-clear": {"AUTHSITE_SMTP_URL": "smtp://u:p@mail.example.org:587"},
    "allowed-verify-email-urls-plain": {
        "AUTHSITE_ALLOWED_VERIFY_EMAIL_URLS": "https://a.example/v http://a.example/v"
    },
    "allowed-reset-password-urls-plain": {
        "AUTHSITE_ALLOWED_RESET_PASSWORD_URLS": "http://a.example/r"
    },
    "users.reset-password-url-plain": {"AUTHSITE_USERS_RESET_PASSWORD_URL": "http://a.example/r"},
    "users.confirm-email-url-plain": {"AUTHSITE_USERS_CONFIRM_EMAIL_URL": "http://a.example/c"},
    "login-page-url-plain": {"AUTHSITE_LOGIN_PAGE_URL": "http://a.example/login"},
    "return-origins-plain": {"AUTHSITE_RETURN_ORIGINS": "http://a.example"},
    "password-breach-check-plain": {"AUTHSITE_PASSWORD_BREACH_CHECK": "http://a.example/range"},
    "cors-origins-plain": {"AUTHSITE_CORS_ORIGINS": "http://a.example"},
    "trusted-proxies-any": {"AUTHSITE_TRUSTED_PROXIES": "*"},
    "trusted-proxies-unset": {"AUTHSITE_TRUSTED_PROXIES": ""},
    "expires-in-years": {"AUTHSITE_EXPIRES_IN": "365d"},
    "expires-in-long": {"AUTHSITE_EXPIRES_IN": "2d"},
    "refresh-expires-in-years": {"AUTHSITE_REFRESH_EXPIRES_IN": "3650"},
    "refresh-expires-in-long": {"AUTHSITE_REFRESH_EXPIRES_IN": "91d"},
    "refresh-grace-long": {"AUTHSITE_REFRESH_GRACE": "1h"},
    "reset-expires-in-long": {"AUTHSITE_RESET_EXPIRES_IN": "1d"},
    "verification-expires-in-long": {"AUTHSITE_VERIFICATION_EXPIRES_IN": "30d"},
    "bcrypt-cost-low": {"AUTHSITE_BCRYPT_COST": "11"},
    "limits-off": {"AUTHSITE_LIMITS": "off"},
    "limits-loose": {"AUTHSITE_LIMITS_LOGIN_ADDRESS": "1000000/second"},
    "limits-storage-memory": {"AUTHSITE_LIMITS_STORAGE": "memory"},
    "audit-keep-short": {"AUTHSITE_AUDIT_KEEP": "1s"},
}
# Breaks no rule either, though it looks like it.
FINE = [
    {
        "AUTHSITE_BASE_URL": "http://localhost:6543",
        "AUTHSITE_CORS_ORIGINS": "http://127.0.0.1:3000",
    },
    {"AUTHSITE_CORS_ORIGINS": "https://a.example capacitor://localhost ionic://localhost"},
    {"AUTHSITE_RETURN_ORIGINS": "http://localhost:3000"},
    {"AUTHSITE_PASSWORD_BREACH_CHECK": "on"},
    {"AUTHSITE_PASSWORD_BREACH_CHECK": "http://localhost:8080/range"},
    {"AUTHSITE_ALLOWED_RESET_PASSWORD_URLS": "http://[::1]/r http://app.localhost/r"},
    {"AUTHSITE_LOGIN_PAGE_URL": "https://a.example/login"},
    {"AUTHSITE_SMTP_URL": "smtp://u:p@localhost"},
    {"AUTHSITE_SMTP_URL": "smtp://u:p@[::1]"},
    {"AUTHSITE_SMTP_URL": "smtps://u:p@mail.example.org"},
    {"AUTHSITE_SMTP_URL": "smtp://mail.example.org"},
    {"AUTHSITE_LIMITS_LOGIN_ADDRESS": "60/minute", "AUTHSITE_AUDIT_KEEP": "forever"},
    {"AUTHSITE_REFRESH_GRACE": "60s", "AUTHSITE_VERIFICATION_EXPIRES_IN": "24h"},
]


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch):
    monkeypatch.setattr(unsafe_choices, "find_spec", lambda _name: None)


def broken(cfg):
    return [rule.name for rule in RULES if rule.broken_by(cfg)]


def test_each_rule_has_a_name_and_a_sample_that_breaks_it():
    assert [rule.name for rule in RULES] == list(BROKEN)


@pytest.mark.parametrize("changes", [{}, *FINE])
def test_a_fit_set_up_breaks_no_rule(changes):
    cfg = load({}, FIT | changes)
    check_start(cfg)
    assert [name for name in broken(cfg) if name != "trusted-proxies-unset"] == []
    assert rule_warnings(cfg) == []


@pytest.mark.parametrize("name", BROKEN)
def test_m10_each_unsafe_choice_is_named_refused_or_warned_of(name):
    rule = next(rule for rule in RULES if rule.name == name)
    environ = FIT | BROKEN[name]
    if rule.level in (REFUSED, REQUIRED):
        with pytest.raises(SettingsError, match=f"One setting is wrong:\n  {rule.key}"):
            load({}, environ)

    cfg = load({}, environ | OFF)

    message = rule.broken_by(cfg)
    assert name in broken(cfg)
    assert message
    assert "{" not in message
    assert "True" not in message
    warned = (WARNED, REFUSED, *([WARNED_LATER] if cfg.production else []))
    assert (f"{rule.key}: {message}" in rule_warnings(cfg)) == (rule.level in warned)
    if rule.level == START:
        with pytest.raises(SettingsError, match=re.escape(rule.key)):
            check_start(cfg)
    assert rule.level in (START, REFUSED, REQUIRED, WARNED, WARNED_LATER, NAMED)


def test_no_password_is_shown():
    cfg = load({}, FIT | OFF | {"AUTHSITE_SMTP_URL": "smtp://u:geheim@mail.example.org"})
    assert "geheim" not in "".join(rule_warnings(cfg))
    with pytest.raises(SettingsError) as refused:
        load({}, FIT | {"AUTHSITE_SMTP_URL": "smtp://u:geheim@mail.example.org"})
    assert "geheim" not in str(refused.value)


def test_h7_only_a_set_up_that_sends_mail_needs_our_own_address():
    for driver in ("log", "file"):
        check_start(load({}, SECRET | {"AUTHSITE_MAIL_DRIVER": driver}))
