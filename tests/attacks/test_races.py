"""Every pair of operations on one account, one of them stopped at each of its statements.

The usual run has an eleventh of the pairs, each operation with itself among them; the whole run
has all.

What is accepted afterwards, and what the audit trail has, must be as if one had come after the
other. So it is not written down what each pair must do: both orders are run first, without meeting.
"""

import tempfile
from collections import Counter
from itertools import count
from typing import ClassVar

import pytest
from sqlalchemy import text

from authsite.users.models import User
from tests.support.extent import volume

from .checks import NOT_COUNTED
from .driver import Driver, cookie_of
from .interleaving import Interleaving
from .operations import CALLS, PASSWORD, meeting, pair_of, set_up

pytestmark = pytest.mark.slow
NEW_ONES = ("purple wolf {} tea", "green otter {} rye")
PASSWORDS = [PASSWORD, *(words.format(side) for side in "AB" for words in NEW_ONES)]
_GENERATION = text("SELECT max(generation) FROM families WHERE revoked_at IS NULL")


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


# A request that has passed the guard goes on although its family is revoked during it: the client
# gets no token by that, and it only deletes what is its own. Then both take effect.
BOTH = {
    frozenset({"revoke", "delete"}),
    frozenset({"end a browser", "complete the change"}),
    frozenset({"end an app", "complete the change"}),
}
# The other request is then of a sign-in that has ended: fewer may be left than after either order.
OWN_SIGN_IN_ENDS = {"log out", "log out in the browser"}


@pytest.mark.control("T19")
@pytest.mark.parametrize("name", CALLS)
def test_whatever_meets_it_is_as_if_one_came_after_the_other(account, interleaving, name):
    faults = []
    for other in chosen(name):
        pair = Pair(account, name, other)
        for stop in count(1):
            account.restore()
            before = events(account)
            answers = interleaving.run(pair.call(0), pair.call(1), stop)
            if answers is None:
                break
            new, left = events(account) - before, state(account, pair.by_side(answers))
            if not pair.allows(left, new, answers):
                faults.append(pair.story(stop, answers, left, new))
        assert stop > 1, f"{name} has one statement"
    assert not faults, "\n".join(faults)


def chosen(name):
    """The operations that meet ``name`` in this run: every eleventh one, or all."""
    order = list(CALLS)
    every = volume(11, 1)
    return [each for each in meeting(name) if (order.index(name) - order.index(each)) % every == 0]


class Pair:
    """Two operations, and what is the case after both, in either order."""

    known: ClassVar[dict] = {}  # outcomes by the two names, which do not depend on their order

    def __init__(self, account, *names):
        self._account, self.names = account, names
        self.sides = "AB" if names[0] <= names[1] else "BA"
        if (key := frozenset(names)) not in self.known:
            self.known[key] = [self._in_order(0, 1), self._in_order(1, 0)]
        self._outcomes = self.known[key]

    def call(self, number):
        """A function that does the operation."""
        name, side = self.names[number], self.sides[number]
        return lambda: CALLS[name](self._account, side)

    def by_side(self, answers):
        """The answers by the names of their sides."""
        return dict(zip(self.sides, answers, strict=True))

    def _in_order(self, *numbers):
        self._account.restore()
        answers, written = {}, {}
        for number in numbers:
            before, side = events(self._account), self.sides[number]
            answers[side] = self.call(number)()
            written[side] = events(self._account) - before
        return state(self._account, answers), written

    def allows(self, left, new, answers):
        """Whether this is the case after one of the orders, also in the audit trail."""
        if frozenset(self.names) in BOTH:
            return left in [wanted for wanted, _ in self._outcomes]
        if OWN_SIGN_IN_ENDS.intersection(self.names):
            return any(left <= wanted for wanted, _ in self._outcomes)
        done = [side for side, answer in self.by_side(answers).items() if not refused(answer)]
        return any(
            left == wanted and new == sum((written[side] for side in done), Counter())
            for wanted, written in self._outcomes
        )

    def story(self, stop, answers, left, new):
        """What a failure says."""
        lines = [f"{self.names[0]} stopped at place {stop}, {self.names[1]} in between:"]
        lines += [f"  answers {[each and each.status for each in answers]}, events {dict(new)}"]
        for wanted, written in self._outcomes:
            lines += [f"  missing {sorted(wanted - left)}, too much {sorted(left - wanted)}, events"
                      f" {written}"]  # fmt: skip
        return "\n".join(lines)


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
    for side, answer in answers.items():
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
        user, found = db.get(User, account.id), {f"{db.query(User).count()} users"}
        if user:
            found.add(f"generation {db.scalar(_GENERATION)}")
            found |= {f"at {user.email}", f"disabled: {user.disabled_at is not None}"}
            right = (each for each in PASSWORDS if check(each, user.password_hash))
            found.add(f"password {next(right, None)}")
            if user.pending_epoch == user.epoch:
                found.add(f"pending {user.pending_email}")
    return found
