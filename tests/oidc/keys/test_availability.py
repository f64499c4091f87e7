"""Whether a service is an OpenID Provider (setting `openid`)."""

import pytest

from authsite.oauth.oidc.availability import is_on, is_on_with
from authsite.oauth.oidc.id_tokens import issuer_of
from authsite.platform.settings import SettingsError, load, load_at_start, new_sealing_key
from tests.oidc.keys.conftest import services_of
from tests.support.site import SECRET

PATHS = ("/.well-known/openid-configuration", "/.well-known/jwks.json")
PRODUCTION = {
    "authsite.production": "true",
    "authsite.mail-driver": "smtp",
    "authsite.smtp-url": "smtp://mail.example.org",
}


def settings(**given):
    named = {f"authsite.{name.replace('_', '-')}": value for name, value in given.items()}
    return {"authsite.secret": SECRET, "authsite.database-url": "sqlite:///x.sqlite", **named}


@pytest.mark.parametrize(
    ("given", "on"),
    [
        ({}, False),
        ({"base_url": "https://auth.example.com"}, True),
        ({"base_url": "http://localhost:6543"}, True),
        ({"base_url": "http://127.0.0.1"}, True),
        ({"base_url": "http://auth.example.com"}, False),
        ({"base_url": "http://auth.example.com https://auth.example.com"}, False),
        ({"base_url": "https://auth.example.com", "openid": "off"}, False),
        ({"base_url": "https://auth.example.com", "openid": "on"}, True),
    ],
)
def test_by_default_it_is_on_where_it_can_be(given, on):
    cfg = load(settings(**given), {})
    assert is_on_with(cfg, standalone=True) is on
    assert is_on_with(cfg, standalone=False) is (cfg.openid is True)


def test_in_production_it_needs_a_sealing_key():
    given = settings(base_url="https://auth.example.com") | PRODUCTION
    assert not is_on_with(load(given, {}), standalone=True)
    sealed = {**given, "authsite.sealing-key": new_sealing_key()}
    assert is_on_with(load(sealed, {}), standalone=True)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "base-url is not set"),
        ({"base_url": "http://auth.example.com"}, "base-url does not begin with https://"),
        ({"base_url": "https://auth.example.com", **PRODUCTION}, "sealing-key is not set"),
    ],
)
def test_set_to_on_where_it_cannot_be_nothing_starts_and_it_is_said_what_to_do(
    given, words, monkeypatch
):
    own = {name: value for name, value in given.items() if "." in name}
    short = {name: value for name, value in given.items() if "." not in name}
    with pytest.raises(SettingsError) as error:
        load_at_start(settings(openid="on", **short) | own)
    assert "authsite.openid: it is on, but" in str(error.value)
    assert words in str(error.value)
    assert "or set openid to off" in str(error.value)


def test_where_it_is_off_its_paths_do_not_exist(site_with):
    site = site_with(base_url="https://auth.example.com", openid="off")
    assert not is_on(services_of(site))
    for path in PATHS:
        site.http.get(path, status=404)
        assert path not in site.http.get("/v1/openapi.json").json["paths"]
    assert "jwks_uri" not in site.http.get("/.well-known/oauth-authorization-server").json


def test_in_a_host_it_is_off_unless_it_is_set(host_with):
    host = host_with(lambda config: None, base_url="https://auth.example.com")
    assert not is_on(services_of(host))
    host.http.get(PATHS[0], status=404)
    host = host_with(
        lambda config: None, prefix="auth", base_url="https://example.com/auth", openid="on"
    )
    assert is_on(services_of(host))
    assert issuer_of(services_of(host)) == "https://example.com/auth"
    found = host.http.get(f"/auth{PATHS[0]}").json
    assert found["jwks_uri"] == "https://example.com/auth/.well-known/jwks.json"
    assert host.http.get(f"{PATHS[0]}/auth").json == found
    assert len(host.http.get(f"/auth{PATHS[1]}").json["keys"]) == 4


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("signing_key_rotation", "1d"),
        ("signing_key_rotation", "47h"),
        ("id_token_expires_in", "25h"),
        ("id_token_expires_in", "0s"),
        ("code_expires_in", "11m"),
        ("code_expires_in", "0s"),
    ],
)
def test_times_that_are_too_short_or_too_long_are_refused(name, text):
    with pytest.raises(SettingsError):
        load(settings(**{name: text}), {})


def test_times_that_are_accepted():
    cfg = load(settings(signing_key_rotation="0", id_token_expires_in="1d"), {})
    assert (cfg.signing_key_rotation.days, cfg.id_token_expires_in.days) == (0, 1)
    cfg = load(settings(signing_key_rotation="2d"), {})
    assert (cfg.signing_key_rotation.days, cfg.code_expires_in.seconds) == (2, 60)


def test_in_a_host_the_issuer_has_the_route_prefix_below_which_its_endpoints_are(host_with):
    """Else the metadata names endpoints that do not exist, and are a host's to take."""
    with pytest.raises(SettingsError) as error:
        host_with(lambda config: None, prefix="auth", base_url="https://example.com", openid="on")
    assert "give https://example.com/auth" in str(error.value)
    host = host_with(lambda config: None, prefix="auth", base_url="https://example.com")
    assert not is_on(services_of(host))
