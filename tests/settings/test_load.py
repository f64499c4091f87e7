"""Loading: which source counts, and what a wrong setting is answered with."""

from dataclasses import FrozenInstanceError
from datetime import timedelta
from ipaddress import ip_network

import pytest

from authsite.platform.settings import Secret, canonical_client
from authsite.platform.settings.sources import unknown_variables
from tests.support.settings import SECRET, message, settings

OTHER = "9JqLw2-VtZr8_bNcX4mKsP6dYhG1fT3u"


def test_a_secret_is_all_that_is_needed():
    cfg = settings()

    assert cfg.secret == (Secret(SECRET),)
    assert cfg.database_url.reveal() == "sqlite:///var/authsite.sqlite"
    assert cfg.variant == "A"
    assert cfg.login_identifiers == ("email",)
    assert cfg.expires_in == cfg.refresh_expires_in == timedelta(days=3650)
    assert cfg.refresh_grace == timedelta(seconds=10)
    assert cfg.verification_expires_in == cfg.reset_expires_in == timedelta(minutes=60)
    assert cfg.require_email_verification is True
    assert cfg.require_email_confirmation is False
    assert cfg.allowed_verify_email_urls == cfg.trusted_proxies == cfg.cors_origins == ()
    assert cfg.base_url == ()
    assert cfg.mail_sender is cfg.phone_region is None
    assert cfg.janitor is None
    assert cfg.audit_keep == timedelta(days=365)
    assert cfg.bcrypt_cost == 12
    assert cfg.limits is True
    assert cfg.clients == cfg.scopes == {}


def test_an_ini_is_overridden_by_the_specification_s_names_and_these_by_ours():
    ini = {"authsite.expires-in": "1"}

    assert settings(ini).expires_in == timedelta(days=1)
    assert settings(ini, API_TOKEN_EXPIRES="2").expires_in == timedelta(days=2)
    both = settings(ini, API_TOKEN_EXPIRES="2", AUTHSITE_EXPIRES_IN="3h")
    assert both.expires_in == timedelta(hours=3)
    assert settings(API_REFRESH_TOKEN_EXPIRES="7").refresh_expires_in == timedelta(days=7)


@pytest.mark.parametrize(
    "key",
    ["authsite.base-url", "authsite.base_url", "authsite.base.url", "Authsite.Base-URL"],
)
def test_dash_underline_and_dot_are_the_same_in_a_key(key):
    assert settings({key: "https://x.test"}).base_url == ("https://x.test",)


def test_one_key_in_two_spellings_is_refused():
    text = message({"authsite.base-url": "http://a.test", "authsite.base_url": "http://b.test"})

    assert "(from authsite.base_url) = 'http://b.test': authsite.base-url is the same key" in text


@pytest.mark.control("K04")
def test_one_message_names_every_wrong_and_unknown_key_its_value_and_what_is_accepted():
    text = message(
        {
            "authsite.bcrypt-cost": "9",
            "authsite.login-identifier": "email",
            "authsite.limits.login-acount": "5/minute",
            "authsite.clients.web.key": "k",
            "authsite.colour-of-the-sky": "blue",
        },
        AUTHSITE_VARIANT="C",
        API_TOKEN_EXPIRES="0",
    )

    assert text.startswith("7 settings are wrong:\n")
    for line in (
        "authsite.bcrypt-cost = '9': give a whole number from 10 to 16",
        "authsite.login-identifier = 'email': there is no such key;"
        " did you mean authsite.login-identifiers?",
        "authsite.limits.login-acount = '5/minute': there is no such key;"
        " did you mean authsite.limits.login-account?",
        "authsite.clients.web.key = (hidden): write authsite.clients.<name>.id and"
        " authsite.clients.<name>.secret",
        "authsite.colour-of-the-sky = (hidden): there is no such key; docs/settings.md lists all",
        "authsite.variant (from AUTHSITE_VARIANT) = 'C': give A (",
        "authsite.expires-in (from API_TOKEN_EXPIRES) = '0': give a duration such as",
    ):
        assert line in text


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("authsite.limits-storag", "authsite.limits-storage"),
        ("authsite.mail-drver", "authsite.mail-driver"),
        ("authsite.user.reset-password-url", "authsite.users.reset-password-url"),
        ("authsite.require-email-verificaton", "authsite.require_email_verification"),
    ],
)
def test_the_error_for_a_mistyped_key_suggests_a_key(key, meant):
    assert f"did you mean {meant}?" in message({key: "x"})


def test_the_error_for_an_unknown_limit_names_all_limits():
    assert "there is no such limit; there are login-account, reauth" in message(
        {"authsite.limits.zzz": "5/minute"}
    )


def test_a_long_value_is_cut_in_the_message():
    text = message(AUTHSITE_VARIANT="A" * 500)

    assert "A" * 100 + "…" in text
    assert "A" * 101 not in text


def test_the_keys_of_others_in_the_same_ini_are_passed_over():
    ini = {"pyramid.reload_templates": "true", "use": "egg:other", "authsites.x": "1", "x": None}

    assert settings(ini) == settings()


@pytest.mark.control("K04")
def test_variables_that_mean_nothing_are_named_and_stop_nothing():
    environ = {
        "AUTHSITE_BASEURL": "http://x.test",
        "AUTHSITE_base_url": "http://x.test",
        "AUTHSITE_BASE_URL_FILE": "/run/url",  # no secret, hence never read from a file
        "AUTHSITE_CLIENTS_WEB_NAME": "web",
        "AUTHSITE_CLIENTS_WEB_ID_FILE": "/run/id",
        "AUTHSITE_CONFIG": "x.ini",
        "AUTHSITE_ENV_FILE": "x.env",
        "AUTHSITE_TEST_REQUIRE": "postgresql",
        "AUTHSITE_CLIENTS_WEB_ID": "id",
        "AUTHSITE_CLIENTS_WEB_SECRET_FILE": "/run/secret",
        "AUTHSITE_LIMITS_LOGIN_ACCOUNT": "5/minute",
        "AUTHSITE_USERS_RESET_PASSWORD_URL": "https://x.test",
        "AUTHSITE_SECRET_FILE": "/run/secret",
        "HOME": "/root",
    }

    assert unknown_variables(environ) == [
        "AUTHSITE_BASEURL",
        "AUTHSITE_BASE_URL_FILE",
        "AUTHSITE_CLIENTS_WEB_ID_FILE",
        "AUTHSITE_CLIENTS_WEB_NAME",
        "AUTHSITE_base_url",
    ]
    assert settings(AUTHSITE_BASEURL="x", AUTHSITE_BASE_URL_FILE="/nowhere").base_url == ()


def test_an_empty_value_leaves_the_next_source_its_word():
    assert settings({"authsite.variant": "B"}, AUTHSITE_VARIANT="").variant == "B"
    assert settings({"authsite.base-url": ""}, AUTHSITE_BASE_URL="  ").base_url == ()


def test_a_host_application_may_give_values_that_are_not_text():
    ini = {
        "authsite.limits": False,
        "authsite.bcrypt-cost": 11,
        "authsite.cors-origins": ["https://a.test", "https://b.test"],
        "authsite.base-url": None,
    }

    cfg = settings(ini)

    assert cfg.limits is False
    assert cfg.bcrypt_cost == 11
    assert cfg.cors_origins == ("https://a.test", "https://b.test")
    assert cfg.base_url == ()


def test_lists_are_separated_by_blanks_or_line_ends():
    ini = {"authsite.allowed-verify-email-urls": "\nhttps://a.test/v\n  https://b.test/v?x=1"}

    assert settings(ini).allowed_verify_email_urls == ("https://a.test/v", "https://b.test/v?x=1")


def test_trusted_proxies_are_networks_or_everybody():
    cfg = settings(AUTHSITE_TRUSTED_PROXIES="10.0.0.0/8 2001:db8::1")

    assert cfg.trusted_proxies == (ip_network("10.0.0.0/8"), ip_network("2001:db8::1/128"))
    assert settings(AUTHSITE_TRUSTED_PROXIES="*").trusted_proxies == ("*",)
    assert "every address" in message(AUTHSITE_TRUSTED_PROXIES="::ffff:0:0/96")
    assert "10.0.0.1/8 has host bits set" in message(AUTHSITE_TRUSTED_PROXIES="10.0.0.1/8")
    assert "or * alone" in message(AUTHSITE_TRUSTED_PROXIES="* 10.0.0.1")


@pytest.mark.parametrize("network", ["0.0.0.0/0", "::/0", "10.0.0.1 0.0.0.0/0"])
def test_l4_a_network_of_all_addresses_is_no_network_of_proxies(network):
    """L4: the client's own, left-most entry counted, so it could choose its address."""
    assert "/0 contains every address" in message(AUTHSITE_TRUSTED_PROXIES=network)


def test_clients_come_from_every_source_and_their_names_know_no_dash():
    cfg = settings(
        {"authsite.clients.my-app.id": "one", "authsite.clients.my_app.secret": SECRET},
        CLIENT_WEB_ID="web-id",
        CLIENT_WEB_SECRET=SECRET,
        AUTHSITE_CLIENTS_WEB_SECRET=OTHER,
        CLIENT_ID="of another program",
    )

    assert set(cfg.clients) == {"my_app", "web"}
    assert (cfg.clients["web"].id, cfg.clients["web"].secret) == ("web-id", Secret(OTHER))
    assert cfg.clients[canonical_client("my-app")].id == "one"


@pytest.mark.parametrize(("half", "other"), [("ID", "secret"), ("SECRET", "id")])
def test_a_client_with_one_half_is_refused(half, other):
    text = message(**{f"CLIENT_WEB_{half}": SECRET})

    assert f"authsite.clients.web.{other}: it is not set, but the other half is" in text
    assert f"CLIENT_WEB_{other.upper()}" in text


def test_a_wrong_half_is_not_called_missing_too():
    text = message(CLIENT_WEB_ID="web", CLIENT_WEB_SECRET="")

    assert text.startswith("One setting is wrong:")
    assert "authsite.clients.web.secret (from CLIENT_WEB_SECRET): it is empty" in text


def test_settings_cannot_be_changed():
    cfg = settings(CLIENT_WEB_ID="web", CLIENT_WEB_SECRET=OTHER)

    with pytest.raises(FrozenInstanceError):
        cfg.variant = "B"
    with pytest.raises(TypeError):
        cfg.clients["other"] = cfg.clients["web"]
    with pytest.raises(TypeError):
        cfg.limit_values["login-account"] = "1/day"
    with pytest.raises(TypeError):
        cfg.scopes["all"] = "everything"


def test_mails_come_from_the_host_of_base_url():
    assert settings().mail_from == "no-reply@localhost"
    assert settings(AUTHSITE_BASE_URL="https://a.test/auth").mail_from == "no-reply@a.test"
    assert settings(AUTHSITE_BASE_URL="http://127.0.0.1:1").mail_from == "no-reply@localhost"
    given = settings(AUTHSITE_BASE_URL="https://a.test", AUTHSITE_MAIL_FROM="Me <me@b.test>")
    assert given.mail_from == "Me <me@b.test>"


def test_a_cookie_domain_that_browsers_refuse_is_refused():
    fine = settings(
        AUTHSITE_BASE_URL="https://auth.a.test", AUTHSITE_SESSION_COOKIE_DOMAIN=".a.test"
    )

    assert fine.session_cookie_domain == "a.test"
    for base in ("https://b.test", "https://xa.test", "https://auth.a.test https://b.test"):
        text = message(AUTHSITE_BASE_URL=base, AUTHSITE_SESSION_COOKIE_DOMAIN="a.test")
        assert "authsite.session-cookie-domain = 'a.test': no browser takes this cookie" in text


def test_a_scope_of_personal_tokens_that_is_not_declared_is_refused():
    declared = {"AUTHSITE_SCOPES": "a: Read\nb: Write"}
    assert settings(AUTHSITE_PERSONAL_TOKEN_SCOPES="a b").personal_token_scopes == ("a", "b")
    assert settings(**declared, AUTHSITE_PERSONAL_TOKEN_SCOPES="b").personal_token_scopes == ("b",)
    text = message(**declared, AUTHSITE_PERSONAL_TOKEN_SCOPES="b c")
    assert "authsite.personal-token-scopes = 'c'" in text
    assert "authsite.scopes does not list" in text
    assert "names of scopes" in message(AUTHSITE_PERSONAL_TOKEN_SCOPES='a "b"')


def test_control_characters_are_refused():
    for text in ("au\x1bth", "au\x00th", "au\udcffth", "au\u2028th"):
        assert "authsite.site-name" in message(AUTHSITE_SITE_NAME=text)
