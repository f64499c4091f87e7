"""Two transactions at the same time: labels, the last owner, and tokens that are just issued."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event
from uuid import UUID

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from authsite.groups import administrators, members, service
from authsite.groups.errors import GroupInUse, TooManyGroups
from authsite.groups.service import GroupValues
from authsite.oauth.clients import groups as client_groups
from authsite.oauth.models import Client
from authsite.platform.audit.service import Cause
from authsite.users import service as users
from authsite.users.errors import LastOwner
from authsite.users.groups.labels import Group, GroupMember
from authsite.users.models import User
from authsite.users.service import erase
from tests.support import personal
from tests.support.acting import acting
from tests.support.locks import until_blocked
from tests.support.site import PASSWORD
from tests.support.together import together

pytestmark = pytest.mark.both_databases(each_value=True)

CAUSE = Cause("command")
LONG_ENOUGH = 0.5  # seconds, in which the other transaction would end if nothing stopped it


def within(site, action):
    """Run ``action(ctx, db)`` in a separate transaction; its result, or its error."""
    with Session(site.database.transactional) as db:
        try:
            with db.begin():
                return action(acting(db, site.app.registry["authsite"]), db)
        except (LastOwner, TooManyGroups, GroupInUse) as error:
            return type(error)


def user_of(db, email):
    return db.scalars(select(User).where(User.email == email)).one()


def with_groups(site, number):
    """The id of Ann, and the names of this many groups."""
    names = [f"g{each}" for each in range(number)]
    with site.db() as db:
        ann = user_of(db, "ann@example.com")
        moments = {"created_at": ann.created_at, "updated_at": ann.created_at}
        db.add_all([Group(name=name, title=name, scopes="", **moments) for name in names])
    return ann.id, names


def adding(user_id, name):
    return lambda ctx, _db: members.add(ctx, name, user_id, CAUSE)


def test_concurrent_changes_leave_all_groups_in_the_labels(site):
    ann, names = with_groups(site, 6)
    together(*(partial(within, site, adding(ann, name)) for name in names))
    with site.db() as db:
        assert db.get(User, ann).labels == " ".join(names)
    removed = [
        partial(within, site, lambda ctx, _db, name=name: members.remove(ctx, name, ann, CAUSE))
        for name in names[:5]
    ]
    together(*removed)
    with site.db() as db:
        assert db.get(User, ann).labels == "g5"


def test_of_two_concurrent_memberships_one_is_the_thirtieth(site):
    ann, names = with_groups(site, 31)
    for name in names[:29]:
        within(site, adding(ann, name))
    results = together(*(partial(within, site, adding(ann, name)) for name in names[29:]))
    assert sorted(map(str, results)) == sorted(map(str, [True, TooManyGroups]))
    with site.db() as db:
        assert len(db.get(User, ann).labels.split()) == 30


def disable(ctx, user):
    users.disable(ctx, user)


def delete(ctx, user):
    erase(ctx, user.id, None)


def demote(ctx, user):
    administrators.revoke(ctx, user, "owner", CAUSE)


@pytest.mark.parametrize(
    ("first", "second"), [(disable, delete), (delete, demote), (demote, disable)]
)
def test_two_owners_cannot_go_at_the_same_time(site, first, second):
    with site.db() as db:
        for email in ("ann@example.com", "bo@example.com"):
            ctx = acting(db, site.app.registry["authsite"], language="en")
            administrators.grant(ctx, user_of(db, email), "owner", CAUSE)
    begun, may_end = Event(), Event()

    def go(ctx, db):
        first(ctx, user_of(db, "ann@example.com"))
        begun.set()
        may_end.wait(30)

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(within, site, go)
        begun.wait(30)
        other = pool.submit(
            within, site, lambda ctx, db: second(ctx, user_of(db, "bo@example.com"))
        )
        try:
            with pytest.raises(TimeoutError):
                other.result(LONG_ENOUGH)  # it waits
        finally:
            may_end.set()
        assert (one.result(30), other.result(30)) == (None, LastOwner)


def test_a_group_is_not_deleted_while_a_client_begins_to_require_it(site, payers):
    keys = site.client()
    with ThreadPoolExecutor(1) as pool:
        with site.db() as db, until_blocked(site.database):
            client_groups.require_existing(db, "payers")
            query = update(Client).where(Client.id == UUID(keys.client_id))
            db.execute(query.values(require_group="payers"))
            deletion = pool.submit(
                within, site, lambda ctx, _db: service.delete(ctx, "payers", CAUSE)
            )
        assert deletion.result(30) is GroupInUse
    with site.db() as db:
        assert db.get(Group, "payers")


def leave(ctx, ann):
    members.remove(ctx, "payers", ann, CAUSE)


def unbind(ctx, _ann):
    service.change(ctx, "payers", GroupValues(scopes=""), CAUSE)


def raise_level(ctx, _ann):
    service.change(ctx, "payers", GroupValues(require_acr="aal2"), CAUSE)


def delete_group(ctx, _ann):
    service.delete(ctx, "payers", CAUSE)  # the members leave it later


def run_again(payers):
    payers.run("group", "update", "payers", "--scope", "")


def remove_the_member(payers):
    payers.run("group", "remove", "payers", "ann@example.com")


@pytest.mark.parametrize("after", [run_again, remove_the_member])
def test_tokens_end_though_the_command_was_stopped_before_it_came_to_them(site, payers, after):
    """Or the user left the group while the command went through its members."""
    keys = site.client(scope="notes:read payments:write")
    tokens = site.login(keys, scope="payments:write")
    token = personal.created(site, tokens["access_token"], scope="payments:write")
    within(site, lambda ctx, _db: unbind(ctx, None))
    after(payers)
    site.me(tokens["access_token"], 401)
    site.me(token, 401)


@pytest.mark.parametrize("lose", [leave, unbind, raise_level, delete_group])
@pytest.mark.parametrize("refreshes", [False, True])
def test_tokens_that_are_issued_while_a_scope_is_lost_do_not_carry_it(
    site, payers, lose, refreshes
):
    keys = site.client(scope="notes:read payments:write")
    tokens = site.login(keys, scope="payments:write notes:read")
    narrowed = site.refresh(keys, tokens["refresh_token"], scope="notes:read")
    form = {"grant_type": "password", "username": "ann@example.com", "password": PASSWORD}
    if refreshes:
        form = {"grant_type": "refresh_token", "refresh_token": narrowed["refresh_token"]}
    with ThreadPoolExecutor(1) as pool:
        with Session(site.database.transactional) as db, db.begin():
            ann = user_of(db, "ann@example.com").id
            lose(acting(db, site.app.registry["authsite"]), ann)
            answer = pool.submit(site.token, keys, "*", scope="payments:write", **form)
            with pytest.raises(TimeoutError):
                answer.result(LONG_ENOUGH)  # it waits for the change
        answer = answer.result(30)
    assert answer.status_int == 400
    assert answer.json["error"] in ("invalid_grant", "invalid_scope")
    with site.db() as db:
        assert len(db.scalars(select(GroupMember)).all()) == (lose is not leave)
    assert [
        family.scope
        for family in site.families()
        if family.revoked_at is None and "payments" in family.scope
    ] == []
