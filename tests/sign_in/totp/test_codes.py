"""The codes of authenticator apps, against RFC 6238 and against pyotp."""

from datetime import UTC, datetime, timedelta

import pyotp
import pytest

from authsite.sign_in.methods.totp import enrollment
from authsite.sign_in.methods.totp.enrollment import (
    Parameters,
    code_at,
    matching_step,
    read,
    step_at,
)

SEED = b"12345678901234567890"
SEEDS = {
    "SHA1": SEED,
    "SHA256": SEED + SEED[:12],
    "SHA512": SEED * 3 + SEED[:4],
}
# RFC 6238, appendix B.
VECTORS = """
59 94287082 46119246 90693936
1111111109 07081804 68084774 25091201
1111111111 14050471 67062674 99943326
1234567890 89005924 91819424 93441116
2000000000 69279037 90698825 38618901
20000000000 65353130 77737706 47863826
"""
NOW = datetime(2031, 5, 17, 9, 30, 5, tzinfo=UTC)


@pytest.mark.parametrize("line", VECTORS.strip().splitlines())
def test_the_vectors_of_the_standard(line):
    seconds, *expected = line.split()
    moment = datetime.fromtimestamp(int(seconds), UTC)
    for (algorithm, seed), code in zip(SEEDS.items(), expected, strict=True):
        own = Parameters(8, 30, algorithm)
        assert code_at(seed, step_at(moment, own), own) == code
        assert matching_step(seed, code, moment, own) == step_at(moment, own)


def test_our_codes_are_those_of_another_implementation():
    secret = bytes(range(20))
    app = pyotp.TOTP("AAAQEAYEAUDAOCAJBIFQYDIOB4IBCEQT")
    for minutes in range(200):
        moment = NOW + timedelta(minutes=minutes * 7)
        assert code_at(secret, step_at(moment)) == app.at(moment)


def test_the_steps_around_now_are_accepted_and_no_others():
    now = step_at(NOW)
    accepted = {
        step - now
        for step in range(now - 5, now + 6)
        if matching_step(SEED, code_at(SEED, step), NOW) == step
    }
    assert accepted == {-1, 0, 1}


@pytest.mark.parametrize(("ahead", "seconds", "accepted"), [
    (40, 0, True), (40, 19, True), (40, 20, False), (40, 29, False),
    (-40, 10, True), (-40, 29, True), (-40, 9, False), (-40, 0, False),
])  # fmt: skip
def test_a_clock_that_is_40_seconds_off(ahead, seconds, accepted):
    moment = NOW.replace(second=seconds)
    theirs = code_at(SEED, step_at(moment + timedelta(seconds=ahead)))
    assert (matching_step(SEED, theirs, moment) is not None) == accepted


def test_all_three_codes_are_computed_whichever_it_is(monkeypatch):
    computed = []

    def counting(secret, step, own=enrollment.OWN):
        computed.append(step)
        return code_at(secret, step, own)

    monkeypatch.setattr(enrollment, "code_at", counting)
    now = step_at(NOW)
    for code in (code_at(SEED, now - 1), code_at(SEED, now), "000000"):
        computed.clear()
        matching_step(SEED, code, NOW)
        assert computed == [now - 1, now, now + 1]


@pytest.mark.parametrize("typed", [
    "492039", " 492 039 ", "492-039", "49\t2039\n", "492\u00a0039", "492\u2013039",
    "\uff14\uff19\uff12\uff10\uff13\uff19", "\u0664\u0669\u0662\u0660\u0663\u0669", "\u200e492039",
])  # fmt: skip
def test_blanks_dashes_and_the_script_of_digits_do_not_matter(typed):
    assert read(typed) == "492039"


@pytest.mark.parametrize("typed", [
    "", "49203", "4920391", "49203a", "+92039", "4.2039",
    "49203\u00b2", "1" * 100_000, " " * 100_000 + "492039",
])  # fmt: skip
def test_what_is_not_six_ascii_digits_is_no_code(typed):
    assert read(typed) is None
