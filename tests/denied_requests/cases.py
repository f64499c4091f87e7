"""One request for each reason: ``CASES["token.scope"](world)`` sends it, and returns `Denied`."""

from typing import NamedTuple

from webtest import TestResponse


class Denied(NamedTuple):
    """An answer; ``shown``: what the log line and ``explain`` have of it, at least."""

    answer: TestResponse
    shown: dict[str, str]


CASES = {}
UNREACHABLE = {
    "authorization.choice_needed": "prompt=none excludes the prompts that ask for a choice",
    "authorization.not_a_page": "another site can send it, so nothing is stored for it",
    "token.code_of_device": "the text of a device code is another one",
    "token.code_race": "a change between two statements of the same request",
    "token.race": "a change between two statements of the same request",
}
"""Reasons that no request meets, or whose request is not noted, each with why."""


def case(name):
    """Decorator: the request for the reason ``name``."""

    def add(function):
        assert name not in CASES, name
        CASES[name] = function
        return function

    return add


from . import (  # noqa: E402, F401
    authorization_cases,
    device_cases,
    form_cases,
    guard_cases,
    introspection_cases,
    login_cases,
    logout_cases,
    provider_cases,
    registration_cases,
    token_cases,
)
