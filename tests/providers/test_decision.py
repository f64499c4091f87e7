"""Whose account it is: every row of the table, and what it must not depend on."""

from itertools import product

import pytest

from authsite.providers.known_accounts import Case, Holder, Step, decide

ADDRESS = "ann@example.com"
NEW = Case(
    known=False, allowed=True, vouched=True, address=ADDRESS, proved=True,
    holder=Holder.NONE, may_register=True, asks=True,
)  # fmt: skip
CASES = [
    Case(*values)
    for values in product(
        (True, False), (True, False, None), (True, False), (ADDRESS, None), (True, False), Holder,
        (True, False), (True, False),
    )
]  # fmt: skip


@pytest.mark.parametrize(
    ("differs", "step"),
    [
        ({"known": True}, Step.SIGN_IN),
        ({"known": True, "allowed": False}, Step.NOT_ALLOWED),
        ({"known": True, "allowed": None}, Step.NOT_ALLOWED),
        ({"known": True, "vouched": False}, Step.PROVE_ADDRESS),
        ({"known": True, "vouched": False, "address": None}, Step.NOT_ALLOWED),
        ({"allowed": False}, Step.NOT_ALLOWED),
        ({"address": None, "proved": False, "allowed": None}, Step.ASK_ADDRESS),
        ({"proved": False}, Step.PROVE_ADDRESS),
        ({}, Step.CREATE),
        ({"may_register": False}, Step.CLOSED),
        ({"holder": Holder.CONFIRMED}, Step.CONNECT),
        ({"holder": Holder.CONFIRMED, "asks": False}, Step.CONNECT_LATER),
        ({"holder": Holder.UNCONFIRMED}, Step.CLAIM),
    ],
)
def test_each_row_of_the_table(differs, step):
    assert decide(NEW._replace(**differs)) is step


def test_until_the_address_is_proved_nothing_depends_on_the_account_or_on_registration():
    for case in CASES:
        if not case.known and not case.proved:
            others = {
                decide(case._replace(holder=holder, may_register=may, asks=asks))
                for holder, may, asks in product(Holder, (True, False), (True, False))
            }
            assert len(others) == 1


def test_an_account_is_never_opened_by_an_address_alone():
    assert all(case.known for case in CASES if decide(case) is Step.SIGN_IN)


def test_a_known_identity_needs_what_is_said_now():
    for case in CASES:
        if case.known and not case.vouched:
            assert decide(case) in (Step.NOT_ALLOWED, Step.PROVE_ADDRESS)


def test_a_tenant_or_domain_that_is_not_allowed_gets_nowhere():
    assert {decide(case) for case in CASES if case.allowed is False} == {Step.NOT_ALLOWED}
