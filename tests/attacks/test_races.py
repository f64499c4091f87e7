"""Every pair of operations on one account, one of them stopped at each of its statements.

What is accepted afterwards, and what the audit trail has, must be as if one had come after the
other. So nobody has to say what each pair must do: both orders are run first, without meeting.
"""

import tempfile
from collections import Counter
from itertools import count

import pytest
from sqlalchemy import text

from authsite.users.models import User

from .checks import NOT_COUNTED
from .driver import Driver, cookie_of
from .interleaving import Interleaving
from .operations import OPERATIONS, PASSWORD, pair_of, set_up

pytestmark = pytest.mark.slow
PASSWORDS = [
    PASSWORD,
    *(text_ for s in "AB" for text_ in (f"purple wolf {s} tea", f"green otter {s} rye")),
]
_FACTS = text(
    "SELECT (SELECT count(*) FROM families), (SELECT count(*) FROM users),"
    " (SELECT max(generation) FROM families)"
)


@pytest.fixture(scope="module")
def account():
    with tempfile.TemporaryDirectory() as folder:
        driver = Driver("postgresql", folder, limits="off")
        try:
            yield set_up(driver)
        finally:
            driver.end()
            driver.site.database.dispose()


@pytest.fixture(scope="module")
def interleaving(account):
    made = Interleaving(account.driver.site.database)
    yield made
    made.close()


@pytest.mark.control("T19")
@pytest.mark.parametrize("name", OPERATIONS)
def test_whatever_meets_it_is_as_if_one_came_after_the_other(account, interleaving, name):
    for other in OPERATIONS:
        orders = [in_order(account, name, other), in_order(account, name, other, turned=True)]
        for stop in count(1):
            account.restore()
            before = events(account)
            answers = interleaving.run(call(account, name, "A"), call(account, other, "B"), stop)
            if answers is None:
                break
            new = events(account) - before
            left = state(account, answers)
            assert any(
                left == wanted and new == allowed(written, answers) for wanted, written in orders
            ), story(name, other, stop, answers, left, new, orders)
        assert stop > 1, f"{name} has one statement"


def call(account, name, side):
    """A function that does the operation."""
    return lambda: OPERATIONS[name](account, side)


def in_order(account, name, other, *, turned=False):
    """The state after both, one after the other, and the events that each has written."""
    account.restore()
    calls, answers, written = [call(account, name, "A"), call(account, other, "B")], {}, {}
    for side in (1, 0) if turned else (0, 1):
        before = events(account)
        answers[side] = calls[side]()
        written[side] = events(account) - before
    both = answers[0], answers[1]
    return state(account, both), (written[0], written[1])


def allowed(written, answers):
    """The events of those that were not refused."""
    return sum((w for w, a in zip(written, answers, strict=True) if not refused(a)), Counter())


def refused(answer):
    """Whether a response says that nothing was done."""
    if answer is None:
        return False
    return answer.status_int >= 400 or "/login?" in answer.headers.get("Location", "")


def events(account):
    """How often each change is in the audit trail."""
    found, _ = account.driver.counts()
    return Counter({name: n for name, n in found.items() if name not in NOT_COUNTED})


def state(account, answers):
    """All that is accepted, also of what the answers have brought, and what the account is like."""
    tokens, sessions = account.tokens, account.sessions
    account.tokens, account.sessions = dict(tokens), dict(sessions)
    for side, answer in zip("AB", answers, strict=True):
        if answer is not None:
            if pair := pair_of(answer):
                account.tokens[side] = pair
            if key := cookie_of(answer):
                account.sessions[side] = key
    try:
        return account.accepted() | facts(account)
    finally:
        account.tokens, account.sessions = tokens, sessions


def facts(account):
    """What the rows say, as names."""
    check = account.driver.services.passwords.check
    with account.driver.site.db() as db:
        families, users, generation = db.execute(_FACTS).one()
        user = db.get(User, account.id)
        found = {f"{families} families", f"{users} users", f"generation {generation}"}
        if user:
            found |= {f"at {user.email}", f"disabled: {user.disabled_at is not None}"}
            found |= {f"password {each}" for each in PASSWORDS if check(each, user.password_hash)}
            if user.pending_epoch == user.epoch:
                found.add(f"pending {user.pending_email}")
    return found


def story(name, other, stop, answers, left, new, orders):
    """What a failure says."""
    lines = [f"{name} stopped at statement {stop}, {other} in between:"]
    lines += [f"  answers {[each and each.status for each in answers]}, events {dict(new)}"]
    for title, (wanted, written) in zip(("first, second", "second, first"), orders, strict=True):
        lines += [f"  {title}: missing {sorted(wanted - left)}, too much {sorted(left - wanted)},"
                  f" events {[dict(each) for each in written]}"]  # fmt: skip
    return "\n".join(lines)
