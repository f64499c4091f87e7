"""The settings for administrators: values, defaults and sources, and no secret."""

import json
import re

import pytest

from authsite.platform.settings import DEFINITIONS
from tests.support import administrators
from tests.support.site import SECRET, WEB, Site

SETTINGS = "/v1/admin/settings"
OTHER_SECRETS = {
    "metrics_token": "metr-kQzW1rXyLm5TgBn2Yc7PdFs4JwE9uKtRaHx0",
    "password_pepper": "pepp-zW1rXyLm5TgBn2Yc7PdFs4JwE9uKtRaHx0qQ",
    "smtp_url": "smtps://mailer:hunter2hunter2@mail.example.org",
    "sealing_key": "a1" * 8 + "5c7e09d3" * 6,
}


@pytest.fixture
def site(site_with):
    return site_with(**administrators.SETTINGS, **WEB, **OTHER_SECRETS, session_idle="13h")


@pytest.fixture
def shown(site):
    headers = administrators.client(site, "admin:settings:read")
    answer = site.http.get(SETTINGS, headers=headers)
    return {each["key"]: each for each in answer.json["settings"]}


def test_each_setting_has_value_default_and_source(shown):
    assert {each.key.removeprefix("authsite.") for each in DEFINITIONS.values()} <= shown.keys()
    assert shown["session-idle"]["value"] == "13h"
    assert shown["session-idle"]["default"] not in (None, "13h")
    assert shown["session-idle"]["source"] == "authsite.session-idle of the application"
    assert shown["admin-acr"] == {
        "key": "admin-acr",
        "value": "aal2",
        "default": "aal2",
        "source": "default",
        "secret": False,
        "fingerprint": None,
    }


@pytest.mark.control("K02")
def test_no_secret_is_shown(site):
    headers = administrators.client(site, "admin:settings:read")
    administrators.signed_in(site, "security")
    texts = site.http.get(SETTINGS, headers=headers).text, site.http.get("/admin/settings").text
    secrets = [SECRET, WEB["clients.web.secret"], "hunter2hunter2", *OTHER_SECRETS.values()]
    for text in texts:
        assert not [secret for secret in secrets if secret in text or secret in json.dumps(text)]
        assert site.url not in text


def test_of_a_secret_it_says_that_it_is_set_and_a_fingerprint(shown, site_with):
    for key in ("secret", "smtp-url", "metrics-token", "clients.web.secret", "database-url"):
        assert shown[key]["secret"]
        assert shown[key]["value"] == "set"
        assert shown[key]["default"] is None
        assert re.fullmatch("[0-9a-f]{12}", shown[key]["fingerprint"])
    assert shown["audit-key"]["value"] is None
    assert shown["audit-key"]["fingerprint"] is None


def test_the_same_secret_has_the_same_fingerprint_and_another_has_another(shown, site):
    def fingerprint(**settings):
        other = Site(site.url, **{**administrators.SETTINGS, **settings})
        headers = administrators.client(other, "admin:settings:read")
        found = other.http.get(SETTINGS, headers=headers).json["settings"]
        other.database.dispose()
        return {each["key"]: each["fingerprint"] for each in found}["metrics-token"]

    ours = shown["metrics-token"]["fingerprint"]
    assert fingerprint(metrics_token=OTHER_SECRETS["metrics_token"]) == ours
    assert fingerprint(metrics_token=OTHER_SECRETS["metrics_token"][::-1]) != ours


def test_a_supporter_may_not_read_settings(site):
    administrators.signed_in(site, "support")
    site.http.get("/admin/settings", status=403)
