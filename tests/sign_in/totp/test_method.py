"""The code of an authenticator app at a sign-in: once, in its time, and not for ever."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from authsite.sign_in.methods.totp.method import MAX_FAILURES
from authsite.sign_in.methods.totp.models import TotpFactor
from tests.factors.steps import Person
from tests.support.together import together

RIGHT = {"amr": ["pwd", "otp"]}
WRONG, USED = {"wrong": "invalid_code"}, {"wrong": "code_used"}


@pytest.fixture
def enrolled(ann, frozen):
    """Ann with an authenticator app, whose confirming code has passed."""
    ann.login()
    ann.be_known()
    ann.enroll()
    frozen.advance(90)
    return ann


def test_a_login_needs_the_code(enrolled):
    asked = enrolled.password()
    assert (asked["methods"], asked["enroll"]) == (["totp", "recovery_code"], False)
    assert enrolled.second(enrolled.code(), key=asked["key"]) == RIGHT
    enrolled.second("000000", key=asked["key"], status=410)  # the pending login serves once
    assert enrolled.factors()["totp"]["last_used_at"] is not None


def test_a_code_serves_once(enrolled, frozen):
    code = enrolled.code()
    assert enrolled.second(code) == RIGHT
    assert enrolled.second(code) == USED
    frozen.advance(30)
    assert enrolled.second(code) == USED
    assert enrolled.second(enrolled.code()) == RIGHT
    assert enrolled.site.events().count("factor.replayed") == 2


@pytest.mark.both_databases
def test_of_twenty_at_once_one_succeeds(enrolled):
    keys = [enrolled.password()["key"] for _ in range(20)]
    code = enrolled.code()
    answers = together(*(lambda key=key: enrolled.second(code, key=key) for key in keys))
    assert sorted(map(str, answers)) == sorted(map(str, [RIGHT, *[USED] * 19]))


def test_the_code_before_one_that_was_used_is_refused(enrolled):
    former, present, later = (enrolled.code(after=seconds) for seconds in (-30, 0, 30))
    assert enrolled.second(present) == RIGHT
    assert enrolled.second(former) == USED
    assert enrolled.second(later) == RIGHT
    assert enrolled.second(present) == USED


def test_the_confirming_code_is_no_login_code(ann, frozen):
    ann.login()
    ann.be_known()
    ann.enroll()
    code = ann.code()
    assert ann.second(code) == USED
    frozen.advance(30)
    assert ann.second(ann.code()) == RIGHT


@pytest.mark.parametrize("typed", ["12345", "\u2460" * 6, "1" * 100_000, "", "abcdef"])
def test_what_is_no_code_is_wrong_and_locks_nothing(enrolled, typed):
    assert enrolled.second(typed) == WRONG
    [row] = enrolled.stored(TotpFactor)
    assert row.failures == 0


def test_a_hundred_wrong_codes_in_a_row_lock_the_app(enrolled):
    wrong = f"{(int(enrolled.code()) + 1) % 10**6:06}"
    set_failures(enrolled, MAX_FAILURES - 2)
    assert enrolled.second(wrong) == WRONG
    assert "factor.locked" not in enrolled.site.events()
    assert enrolled.second(wrong) == WRONG
    assert enrolled.site.events().count("factor.locked") == 1
    assert enrolled.second(enrolled.code()) == WRONG
    assert enrolled.second(wrong) == WRONG
    assert enrolled.site.events().count("factor.locked") == 1
    assert enrolled.password()["methods"] == ["totp", "recovery_code"]  # still enrolled


def test_a_right_code_begins_to_count_anew(enrolled):
    set_failures(enrolled, MAX_FAILURES - 1)
    assert enrolled.second(enrolled.code()) == RIGHT
    [row] = enrolled.stored(TotpFactor)
    assert row.failures == 0


def test_another_factor_unlocks_the_app(ann, frozen):
    ann.login()
    ann.be_known()
    [code, *_] = ann.enroll()["recovery_codes"]
    frozen.advance(90)
    set_failures(ann, MAX_FAILURES)
    assert ann.second(ann.code()) == WRONG
    assert ann.second(code, "recovery_code") == {"amr": ["pwd", "recovery"]}
    assert ann.second(ann.code()) == RIGHT


def test_a_secret_that_no_key_opens_counts_as_enrolled(enrolled):
    with enrolled.site.db() as db:
        db.execute(update(TotpFactor).values(secret="000000000000.AAAA"))
    asked = enrolled.password()
    assert asked["methods"] == ["totp", "recovery_code"]
    assert enrolled.second(enrolled.code(), key=asked["key"]) == WRONG
    assert enrolled.factors()["totp"] is not None
    [row] = enrolled.stored(TotpFactor)
    assert row.failures == 0


def test_a_secret_serves_its_own_user_alone(enrolled):
    bob = Person(enrolled.site, "bob@example.com")
    bob.enroll()
    with enrolled.site.db() as db:
        secret = select(TotpFactor.secret).where(TotpFactor.user_id == enrolled.id)
        moved = {"secret": db.scalar(secret), "last_step": 0}
        db.execute(update(TotpFactor).where(TotpFactor.user_id == bob.id).values(moved))
    assert bob.second(enrolled.code()) == WRONG
    assert enrolled.second(enrolled.code()) == RIGHT


def test_a_first_factor_is_needed_before_the_code(enrolled):
    answer = enrolled.site.http.post_json(
        "/first", {"username": enrolled.email, "password": "wrong", "otp": enrolled.code()}
    )
    assert answer.json == {"amr": None}


def test_the_imported_form_of_another_app_is_read(enrolled, frozen):
    """Eight digits, a minute, SHA-256."""
    import pyotp

    with enrolled.site.db() as db:
        values = {"digits": 8, "period": 60, "algorithm": "SHA256", "last_step": 0}
        db.execute(update(TotpFactor).values(values))
    app = pyotp.TOTP(enrolled.secret, digits=8, digest="sha256", interval=60)
    assert enrolled.second(app.at(clock.now())[:6]) == WRONG
    assert enrolled.second(app.at(clock.now())) == RIGHT


def test_wrong_codes_are_limited_for_the_user_over_all_logins(steps, frozen):
    ann = Person(steps(limits="on"))
    ann.enroll()
    frozen.advance(timedelta(minutes=2).total_seconds())
    keys = [ann.password()["key"] for _ in range(7)]
    for key in keys[:5]:
        assert ann.second("000000", key=key) == WRONG
    ann.site.http.post_json(
        "/second", {"key": keys[5], "method": "totp", "code": ann.code()}, status=429
    )


def test_no_secret_is_in_the_audit_trail(enrolled):
    code = enrolled.code()
    enrolled.second(code)
    enrolled.second(code)
    with enrolled.site.db() as db:
        details = [str(each) for each in db.scalars(select(AuditEvent.details))]
    assert not [each for each in details if code in each or enrolled.secret in each]


def set_failures(person, number):
    with person.site.db() as db:
        db.execute(update(TotpFactor).values(failures=number))
