"""Recovery codes: each serves once, and they end with the last factor."""

import re

import pytest
from sqlalchemy import delete, select

from authsite.platform.audit.models import AuditEvent
from authsite.platform.mail.outbox import OutboxMessage
from authsite.sign_in.methods.recovery_codes import service
from authsite.sign_in.methods.recovery_codes.service import RecoveryCode
from tests.factors.steps import Person, add_steps
from tests.support.host import HostSite
from tests.support.together import together

RIGHT = {"amr": ["pwd", "recovery"]}
WRONG, USED = {"wrong": "invalid_code"}, {"wrong": "code_used"}
METHOD = "recovery_code"


@pytest.fixture
def enrolled(ann):
    ann.codes = ann.enroll()["recovery_codes"]
    return ann


def test_eight_codes_of_120_bits_in_groups_of_four(enrolled):
    assert len(set(enrolled.codes)) == 8
    for code in enrolled.codes:
        assert re.fullmatch(r"([0-9A-HJKMNP-TV-Z]{4}-){5}[0-9A-HJKMNP-TV-Z]{4}", code)
    assert len(service.ALPHABET) ** service.LENGTH == 2**120
    stored = [each.mac for each in enrolled.stored(RecoveryCode)]
    assert len(set(stored)) == 8
    plain = [code.replace("-", "") for code in enrolled.codes]
    assert not [mac for mac in stored for code in plain if code in mac.upper()]


def test_a_code_serves_once(enrolled):
    first, second, *_ = enrolled.codes
    assert enrolled.second(first, METHOD) == RIGHT
    assert enrolled.second(first, METHOD) == USED
    assert enrolled.factors()["recovery_codes"]["left"] == 7
    assert enrolled.second(second, METHOD) == RIGHT
    with enrolled.site.db() as db:
        used = select(AuditEvent.details).where(AuditEvent.event == "recovery_code.used")
        assert [each["left"] for each in db.scalars(used)] == ["7", "6"]


@pytest.mark.both_databases
def test_of_two_at_once_one_succeeds(enrolled):
    keys = [enrolled.password()["key"] for _ in range(2)]
    code = enrolled.codes[0]
    answers = together(*(lambda key=key: enrolled.second(code, METHOD, key) for key in keys))
    assert sorted(map(str, answers)) == sorted(map(str, [RIGHT, USED]))


def typed_in_ways(code):
    return [code.lower(), code.replace("-", ""), code.replace("-", " "), f"  {code}\n"]


@pytest.mark.parametrize("way", range(4))
def test_case_blanks_and_dashes_do_not_matter(enrolled, way):
    assert enrolled.second(typed_in_ways(enrolled.codes[way])[way], METHOD) == RIGHT


def test_letters_that_look_like_digits_are_read_as_these():
    assert service.read("oO0iIlL1" + "A" * 16) == "00011111" + "A" * 16
    assert service.read("U" * 24) is None


@pytest.mark.parametrize("typed", ["", "A" * 23, "A" * 25, "\uff21" * 24, "A" * 100_000, "é" * 24])
def test_what_cannot_be_a_code_is_wrong(enrolled, typed):
    assert enrolled.second(typed, METHOD) == WRONG


def test_a_new_set_ends_the_old_one(enrolled):
    made = enrolled.call("post", "recovery-codes")["recovery_codes"]
    assert not set(made) & set(enrolled.codes)
    assert enrolled.second(enrolled.codes[0], METHOD) == WRONG
    assert enrolled.second(made[0], METHOD) == RIGHT
    assert enrolled.factors()["recovery_codes"]["left"] == 7
    assert enrolled.site.events().count("recovery_codes.created") == 2


def test_a_code_is_of_one_user(enrolled):
    bob = Person(enrolled.site, "bob@example.com")
    bob.enroll()
    assert bob.second(enrolled.codes[0], METHOD) == WRONG
    assert enrolled.second(enrolled.codes[0], METHOD) == RIGHT


def test_a_code_of_a_former_sealing_key_still_serves(steps):
    first, second = "1f" * 32, "2e" * 32
    ann = Person(steps(sealing_key=first))
    made = ann.enroll()["recovery_codes"]
    ann.site = HostSite(ann.site.url, add_steps, sealing_key=f"{second} {first}")
    assert ann.second(made[0], METHOD) == RIGHT
    assert ann.second(made[0], METHOD) == USED


def test_without_a_factor_there_are_none(ann):
    answer = ann.call("post", "recovery-codes", 409)
    assert [each["code"] for each in answer["errors"]] == ["factor_required"]
    assert ann.stored(RecoveryCode) == []


def test_they_need_the_proof(enrolled):
    enrolled.call("post", "recovery-codes", 422, current_password="wrong")
    assert enrolled.second(enrolled.codes[0], METHOD) == RIGHT


def test_they_end_with_the_last_factor(enrolled):
    enrolled.call("delete", "totp", 204)
    assert enrolled.stored(RecoveryCode) == []
    assert enrolled.factors()["recovery_codes"] is None
    enrolled.enroll()
    assert enrolled.second(enrolled.codes[0], METHOD) == WRONG


def test_a_user_without_codes_left_is_not_asked_for_one(enrolled):
    for code in enrolled.codes:
        assert enrolled.second(code, METHOD) == RIGHT
    assert enrolled.password()["methods"] == ["totp"]
    assert enrolled.factors()["recovery_codes"]["left"] == 0


def test_no_code_is_in_the_audit_trail(enrolled):
    enrolled.second(enrolled.codes[0], METHOD)
    with enrolled.site.db() as db:
        details = [str(each) for each in db.scalars(select(AuditEvent.details))]
    for code in enrolled.codes:
        assert not [each for each in details if code in each or code.replace("-", "") in each]


def test_each_use_is_told_by_mail(enrolled):
    with enrolled.site.db() as db:
        db.execute(delete(OutboxMessage))
    enrolled.second(enrolled.codes[0], METHOD)
    enrolled.second(enrolled.codes[0], METHOD)
    with enrolled.site.db() as db:
        assert db.scalars(select(OutboxMessage.kind)).all() == ["recovery_code_used"]


def test_each_change_is_told_by_mail(ann):
    ann.enroll()
    ann.call("post", "recovery-codes")
    ann.call("delete", "totp", 204)
    with ann.site.db() as db:
        kinds = db.scalars(select(OutboxMessage.kind).order_by(OutboxMessage.created_at)).all()
    assert kinds == ["factor_added", "recovery_codes_created", "factor_removed"]
