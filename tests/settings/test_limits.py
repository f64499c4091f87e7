"""The limits in the settings."""

import pytest

from tests.support.settings import message, settings


def test_limits_have_the_defaults_of_the_contract_and_can_be_changed_one_by_one():
    cfg = settings({"authsite.limits.login-account": "3 per 2 hours"})

    assert cfg.limit_values == {
        "login-account": "3 per 2 hours",
        "reauthentication": "5/5 minutes",
        "login-address": "30/minute",
        "provider-failures": "20/10 minutes",
        "client-auth": "20/minute",
        "authorize-address": "60/minute",
        "authorize-user": "120/minute, 2000/hour",
        "device-start": "30/hour",
        "device-code": "10/15 minutes",
        "registration-address": "20/hour",
        "registration-total": "1000/day",
        "document-address": "20/hour",
        "register-address": "20/hour",
        "forgot-email": "5/hour",
        "forgot-address": "20/hour",
        "verification": "6/minute, 8/hour",
        "verification-email": "5/hour",
        "verification-address": "20/hour",
        "mail-recipient": "5/hour",
        "unconfirmed-recipient": "10/hour",
        "security-notice": "5/day",
        "failed-logins-notice": "1/day",
        "login-names": "10/hour",
        "profile": "60/hour",
        "personal-tokens": "20/hour",
        "export": "5/day",
        "password-check": "60/minute",
        "reset-token": "10/15 minutes",
        "second-factor": "5/5 minutes",
        "second-factor-address": "30/10 minutes",
        "email-code": "5/hour",
        "email-code-address": "20/hour",
        "email-sign-in": "5/hour",
        "factor-changes": "20/hour",
        "admin-api": "600/minute",
        "admin-export": "60/hour",
        "admin-mail": "30/hour",
        "invitation": "5/hour",
        "invitation-link": "10/15 minutes",
    }


@pytest.mark.parametrize(
    "value",
    ["5", "5/fortnight", "0/minute", "5/0 minutes", "5/minute;9/", "9/9 years", "-1/day"],
)
def test_a_limit_that_the_library_does_not_read_as_meant_is_refused(value):
    assert "give a limit such as 5/5 minutes" in message(AUTHSITE_LIMITS_RESET_TOKEN=value)


def test_a_limit_may_have_several_windows_save_where_a_growing_delay_follows_it():
    several = "6/minute, 8/hour"
    assert settings(AUTHSITE_LIMITS_RESET_TOKEN=several).limit_values["reset-token"] == several
    for name in ("LOGIN_ACCOUNT", "REAUTHENTICATION", "SECOND_FACTOR"):
        error = message(**{f"AUTHSITE_LIMITS_{name}": several})
        assert "give one limit such as 5/5 minutes" in error
