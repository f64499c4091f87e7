"""What production asks for, and what deserves a warning at every start."""

import pytest

from authsite.platform.settings import SettingsError, load
from authsite.platform.settings.load import rule_warnings

NEEDED = {
    "AUTHSITE_SECRET": "rA0t3vPqZ9_kWmB7yXn5-cLdE1sFhJ2g",
    "AUTHSITE_SEALING_KEY": "4e1f09c7b2d86a53e9710fbc3da4582616c8e0b97f3d25a1409be6c8d7f21a35",
}


def settings(**environ):
    return load({}, NEEDED | environ)


def message(**environ):
    with pytest.raises(SettingsError) as refused:
        settings(**environ)
    return str(refused.value)


PRODUCTION = {
    "AUTHSITE_PRODUCTION": "true",
    "AUTHSITE_BASE_URL": "https://auth.example.org",
    "AUTHSITE_MAIL_DRIVER": "smtp",
}


def test_production_starts_with_what_it_needs():
    assert settings(**PRODUCTION).production is True


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"AUTHSITE_BASE_URL": ""}, "authsite.base-url: it is not set; production needs"),
        ({"AUTHSITE_BASE_URL": "http://auth.example.org"}, "production needs https"),
        ({"AUTHSITE_BASE_URL": "https://a.test http://b.test"}, "production needs https"),
        ({"AUTHSITE_MAIL_DRIVER": "log"}, "authsite.mail-driver = 'log': the log driver writes"),
        ({"AUTHSITE_MAIL_DRIVER": ""}, "authsite.mail-driver = 'log': the log driver writes"),
    ],
)
@pytest.mark.control("M04")
def test_production_refuses_what_is_for_trying_out(changed, expected):
    text = message(**PRODUCTION | changed)

    assert text.startswith("One setting is wrong:")
    assert expected in text
    assert settings(**PRODUCTION | changed | {"AUTHSITE_PRODUCTION": "false"})


@pytest.mark.control("M04")
def test_production_can_be_forced_to_take_the_log_driver():
    forced = {"AUTHSITE_MAIL_DRIVER": "log", "AUTHSITE_MAIL_LOG_IN_PRODUCTION": "true"}

    assert settings(**PRODUCTION | forced).mail_driver == "log"


@pytest.mark.parametrize("base", ["http://localhost:6543", "http://127.0.0.1", "http://[::1]:80"])
def test_production_can_be_tried_on_this_machine(base):
    assert settings(**PRODUCTION | {"AUTHSITE_BASE_URL": base}).production


def test_a_wrong_base_url_in_production_is_not_called_missing_too():
    assert message(**PRODUCTION | {"AUTHSITE_BASE_URL": "auth.example.org"}).startswith(
        "One setting is wrong:"
    )


@pytest.mark.control("T17")
def test_ten_years_deserve_a_warning_in_production_and_shorter_lifetimes_do_not():
    warned = rule_warnings(settings(**PRODUCTION))
    assert [text.partition(": ")[0] for text in warned] == [
        "authsite.expires-in",
        "authsite.refresh-expires-in",
    ]
    assert "3650d" in warned[0]
    short = {"API_TOKEN_EXPIRES": "1", "API_REFRESH_TOKEN_EXPIRES": "30"}
    assert rule_warnings(settings(**PRODUCTION, **short)) == []


def test_a_development_start_warns_of_none_of_its_own_defaults():
    """M1 of the review of pages: they are those of the specification. `init` writes the keys."""
    assert rule_warnings(settings()) == []


def test_production_without_limits_deserves_a_warning():
    cfg = settings(
        **PRODUCTION, API_TOKEN_EXPIRES="1", API_REFRESH_TOKEN_EXPIRES="1", AUTHSITE_LIMITS="off"
    )

    assert [text[:20] for text in rule_warnings(cfg)] == ["authsite.limits: off"]
