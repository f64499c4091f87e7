"""Reading settings in tests, and what is said of wrong ones."""

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from authsite.platform.settings import SettingsError, load

SECRET = "rA0t3vPqZ9_kWmB7yXn5-cLdE1sFhJ2g"
NEEDED = {"AUTHSITE_SECRET": SECRET}

# A busy machine is not a failure.
unhurried = hypothesis_settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def refused(parse, *texts):
    for text in texts:
        with pytest.raises(ValueError, match=r"^give "):
            parse(text)


def accepted(parse, text):
    """Whether ``text`` is taken; a refusal must be the usual one."""
    try:
        parse(text)
    except ValueError:
        refused(parse, text)
        return False
    return True


def settings(ini=None, **environ):
    return load(ini or {}, NEEDED | environ)


def message(ini=None, **environ):
    with pytest.raises(SettingsError) as refused:
        settings(ini, **environ)
    return str(refused.value)
