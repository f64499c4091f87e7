"""A pending change and a former address are those of one user, whatever the ids of others are."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import update

from authsite.platform.runtime import clock
from authsite.users import former
from authsite.users.errors import SignInEnded
from authsite.users.models import FormerAddress, User
from tests.support.beside import BOTH, HIGHEST, LOWEST, add_beside, changed, stored

HOUR = timedelta(hours=1)
MINE, UNKNOWN = UUID(int=2**100), UUID(int=2**101)
ABOUT_NOW = (-HOUR, timedelta(), HOUR)


@pytest.fixture
def ann(site, frozen):
    """Ann at epoch 5 with a pending change, between two users who have the same."""
    made = site.user()
    with site.db() as db:
        pending_change = {
            "pending_email": "b@example.com",
            "pending_epoch": 5,
            "pending_expires_at": clock.now() + HOUR,
        }
        db.execute(update(User).values(epoch=5, **pending_change))
        add_beside(db, db.get(User, made.id))
    return made


def change(site, act, model=User):
    """What ``act`` returns, and the ids of the rows that it changes."""
    before = stored(site, model)
    with site.db() as db:
        result = act(db)
    return result, changed(before, stored(site, model))


def set_user(site, user, **values):
    with site.db() as db:
        db.execute(update(User).where(User.id == user.id).values(**values))


def test_a_pending_change_is_found_while_its_link_is_valid_and_the_epoch_is_the_user_s(site, ann):
    def found(user_id=ann.id):
        with site.db() as db:
            both = (former.find_pending(db, user_id), former.find_apart(site.database, user_id))
            assert both[0] == both[1]
            return both[0]

    assert found().email == "b@example.com"
    assert found(UNKNOWN) is None
    for epoch in (4, 6):
        set_user(site, ann, pending_epoch=epoch)
        assert found() is None
    set_user(site, ann, pending_epoch=5)
    for left in ABOUT_NOW:
        set_user(site, ann, pending_expires_at=clock.now() + left)
        assert (found() is not None) == (left == HOUR)


def test_a_pending_change_begins_for_one_user_at_the_epoch_of_the_check(site, ann):
    def begin(user_id, epoch):
        expires_at = clock.now() + 2 * HOUR

        def ask(db):
            return former.begin(db, user_id, epoch, "c@x.org", expires_at, by_link=False)

        return change(site, ask)

    assert begin(ann.id, 5) == ("ann@example.com", {ann.id})
    for user_id, epoch in ((UNKNOWN, 5), (ann.id, 4), (ann.id, 6)):
        with pytest.raises(SignInEnded):
            begin(user_id, epoch)
    assert stored(site, User)[LOWEST]["pending_email"] == "b@example.com"


def test_a_pending_change_is_prolonged_for_one_user_until_it_expires(site, ann):
    def prolong(user_id=ann.id):
        return change(site, lambda db: former.prolong(db, user_id, clock.now() + 2 * HOUR))

    assert prolong(UNKNOWN) == (None, set())
    for left in ABOUT_NOW:
        set_user(site, ann, pending_expires_at=clock.now() + left)
        assert prolong() == (("b@example.com", {ann.id}) if left == HOUR else (None, set()))


def test_a_pending_change_ends_for_one_user(site, ann):
    assert change(site, lambda db: former.end(db, UNKNOWN)) == (False, set())
    assert change(site, lambda db: former.end(db, ann.id)) == (True, {ann.id})
    assert change(site, lambda db: former.end(db, ann.id)) == (False, set())


def add_former(site, user_id, epoch, key, left=HOUR, id_=None):
    """A former address of the user, until ``left`` from now; its id."""
    with site.db() as db:
        made = FormerAddress(
            id=id_ or uuid4(), user_id=user_id, key=key, email=key, epoch=epoch,
            expires_at=clock.now() + left,
        )  # fmt: skip
        db.add(made)
        return made.id


def test_an_address_is_reserved_for_its_user_until_it_expires(site, ann):
    for left, key in zip(ABOUT_NOW, ("expired", "expiring", "m"), strict=True):
        add_former(site, ann.id, 5, key, left)

    def reserved(key, user_id):
        with site.db() as db:
            found = former.find_reserved(db, [key], user_id)
        assert former.is_reserved_apart(site.database, key, user_id) == bool(found)
        return list(found)

    for other in BOTH:
        assert reserved("m", other) == ["m"]
        for key in ("a", "z", "expired", "expiring"):
            assert reserved(key, other) == []
    assert reserved("m", ann.id) == []
    with site.db() as db:
        assert former.find_reserved(db, ["m", "z", "expired", "expiring"]) == ["m"]


def test_a_former_address_is_found_by_its_id_for_an_enabled_user_until_it_expires(site, ann):
    for id_ in (LOWEST, MINE, HIGHEST):
        add_former(site, ann.id, 5, f"{id_}@example.com", id_=id_)

    def found(id_=MINE):
        with site.db() as db:
            row = former.find(db, id_)
            return row and row.email

    assert found() == f"{MINE}@example.com"
    assert found(UNKNOWN) is None
    set_user(site, ann, disabled_at=clock.now())  # the users beside her are not
    assert found() is None
    set_user(site, ann, disabled_at=None)
    for left in ABOUT_NOW:
        with site.db() as db:
            db.get(FormerAddress, MINE).expires_at = clock.now() + left
        assert (found() is not None) == (left == HOUR)


def test_a_former_address_ends_with_those_of_later_changes_of_the_same_user(site, ann):
    ids = {
        (user_id, epoch): add_former(site, user_id, epoch, "m")
        for user_id in (*BOTH, ann.id)
        for epoch in (1, 2, 3)
    }
    with site.db() as db:
        second = db.get(FormerAddress, ids[ann.id, 2])
    later = {ids[ann.id, 2], ids[ann.id, 3]}
    assert change(site, lambda db: former.end_since(db, second), FormerAddress) == (True, later)
    assert change(site, lambda db: former.end_since(db, second), FormerAddress) == (False, set())
    end_all = lambda db: former.end_all(db, ann.id)  # noqa: E731
    assert change(site, end_all, FormerAddress) == (None, {ids[ann.id, 1]})


def test_who_takes_an_own_address_again_ends_the_changes_after_the_first_from_it(site, ann):
    mine = [
        add_former(site, ann.id, epoch, key, left)
        for epoch, (key, left) in enumerate(
            [("m", -HOUR), ("m", 0 * HOUR), ("a", HOUR), ("z", HOUR),
             ("m", HOUR), ("n", HOUR), ("m", HOUR)],
        )
    ]  # fmt: skip
    for other in BOTH:
        for epoch in (1, 9):
            add_former(site, other, epoch, "m")

    def end_returned(key, user_id=ann.id):
        def end(db):
            return former.end_returned(db, user_id, key) is not None

        return change(site, end, FormerAddress)

    for key in ("b", "y", "x"):
        assert end_returned(key) == (False, set())
    assert end_returned("m", UNKNOWN) == (False, set())
    assert end_returned("m") == (True, set(mine[5:]))
    assert end_returned("m") == (True, set())
