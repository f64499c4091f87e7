"""Memberships that another transaction changes at the same time stay as it leaves them."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from authsite.admin.guard import COMMAND
from authsite.admin.users import actions
from authsite.groups import administrators
from authsite.groups import service as groups
from authsite.groups.service import GroupValues
from authsite.users.groups.labels import groups_of
from authsite.users.models import User
from tests.support import administrators as support
from tests.support.acting import acting
from tests.support.locks import until_blocked

pytestmark = pytest.mark.both_databases(each_value=True)
CAUSE = COMMAND.cause()


def within(site, action):
    """Run ``action(ctx, db)`` in a separate transaction."""
    with Session(site.database.transactional) as db, db.begin():
        return action(acting(db, site.app.registry["authsite"]), db)


def user_of(db):
    return db.scalars(select(User).where(User.email == "ann@example.com")).one()


@pytest.mark.parametrize("change", [actions.join, actions.leave])
def test_a_change_that_waits_does_not_give_a_lost_reserved_group_back(site, change):
    support.make(site, "support", "ann@example.com")
    within(site, lambda ctx, _db: groups.create(ctx, "ops", GroupValues("Ops"), CAUSE))
    if change is actions.leave:
        within(site, lambda ctx, db: actions.join(ctx, COMMAND, user_of(db), "ops", None))

    with ThreadPoolExecutor(1) as pool:
        with site.db() as db, until_blocked(site.database):
            ctx = acting(db, site.app.registry["authsite"])
            administrators.revoke(ctx, user_of(db), "support", CAUSE)
            other = pool.submit(
                within, site, lambda ctx, db: change(ctx, COMMAND, user_of(db), "ops", None)
            )
        other.result(30)
    with site.db() as db:
        wanted = ["ops"] if change is actions.join else []
        assert list(groups_of(db, user_of(db).id)) == wanted
