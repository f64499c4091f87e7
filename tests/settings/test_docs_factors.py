"""What the pages about second factors and passkeys show in blocks is true."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from authsite.oauth.grants.sign_in import MfaGrant
from authsite.oauth.models import MFA_GRANT
from tests.support import factors, guides
from tests.support.host import hello
from tests.support.pages import sign_in
from tests.support.settings import settings


def texts(page, language):
    return [each.text for each in guides.blocks(page) if each.language == language]


def shown_settings(page):
    """The settings in all blocks of the page, also those of several lines."""
    found = "\n".join(texts(page, "ini"))
    return dict(re.findall(r"^(authsite\.\S+) = (.+(?:\n .+)*)", found, re.MULTILINE))


def test_the_settings_of_passkeys_are_accepted():
    cfg = settings(shown_settings("passkeys"))
    assert cfg.passkey_rp_id == "example.org"
    assert len(cfg.passkey_origins) == 2


def test_the_settings_of_second_factors_are_accepted():
    cfg = settings(shown_settings("second-factors"))
    assert cfg.second_factor == "required"
    assert str(cfg.second_factor_from).startswith("2027-01-31")


@pytest.fixture
def guarded(host_with):
    """A host with the routes of the page."""
    [code] = texts("require-factor", "python")

    def build(config):
        exec(code, {"config": config})  # noqa: S102  our own documentation
        for name in re.findall(r'add_route\("(\w+)"', code):
            config.add_view(hello, route_name=name)

    site = host_with(build)
    site.ann = site.user(confirmed=True)
    factors.add_totp(site, site.ann)
    return site


def test_the_routes_shown_ask_for_the_level(guarded):
    guarded.http.get("/v1/reports", status=401)
    answer = sign_in(guarded)
    assert urlsplit(answer.location).path == "/login/factor"
    guarded.http.get("/billing", status=302)


def test_forward_auth_takes_the_options_shown(site):
    [block] = texts("require-factor", "text")
    assert len(block.split()) == 2
    for path in block.split():
        assert {"acr", "verified"} <= parse_qs(urlsplit(path).query).keys()
        site.http.get(path, status=401)  # not signed in; a wrong option would be 400


def test_a_login_that_needs_a_second_factor_is_answered_as_shown(site):
    [shown], [call] = texts("second-factors", "json"), texts("second-factors", "sh")
    factors.add_totp(site, site.user(confirmed=True))
    keys = site.client()
    answer = site.login(keys, status=400)
    assert set(re.findall(r'"(\w+)":', shown)) <= answer.keys()
    assert (
        re.findall(r'"(\w+)"', shown.partition("[")[2].partition("]")[0]) == answer["mfa_methods"]
    )
    sent = dict(re.findall(r"-d (\w+)=(\S+)", call))
    assert sent.keys() - {"client_id", "client_secret"} <= MfaGrant.model_fields.keys()
    assert sent["grant_type"] == MFA_GRANT
    given = {"mfa_token": answer["mfa_token"], "code": factors.code_now()}
    site.token(keys, **{**sent, **keys.form(), **given})
