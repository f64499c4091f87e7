"""Administrators on two server processes at the same moment, and on the command line."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle
from typing import NamedTuple

import httpx
import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from authsite.groups import administrators as roles
from authsite.platform.audit.service import Cause
from authsite.sign_in.credentials import pack
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.account import lock_all
from authsite.users.groups import group_scopes
from authsite.users.groups.labels import ADMIN_SCOPES, names
from authsite.users.models import User
from tests.support import administrators, databases
from tests.support.extent import ALL, volume
from tests.support.factors import context
from tests.support.locks import until_processes_blocked
from tests.support.pages import csrf_of
from tests.support.pair import pair
from tests.support.servers import authsite
from tests.support.site import PASSWORD
from tests.support.together import together

pytestmark = [pytest.mark.slow, pytest.mark.both_databases]

SCOPE = " ".join(sorted(ADMIN_SCOPES))  # with fewer, an owner outranks the token
OWNERS = "/v1/admin/groups/authsite:owner/members"
WHY = {"reason": "at the same moment"}
ADDRESSES = ("ann@example.com", "bo@example.com")


class Owner(NamedTuple):
    """An owner, with the header of an access token."""

    user: User
    headers: dict


@pytest.fixture(scope="module")
def servers(backend, tmp_path_factory):
    """Both servers, started once for this file."""
    folder = tmp_path_factory.mktemp("administrators")
    with pair(backend, folder, **administrators.SETTINGS) as made:
        yield made


def two_owners(two):
    """Ann and Bo on an empty database, both signed in as owners."""
    databases.empty(two.site.database)
    for email in ADDRESSES:
        administrators.make(two.site, "owner", email)
    return [Owner(user_of(two, each), token(two, each, SCOPE)) for each in ADDRESSES]


def user_of(two, email):
    with two.site.db() as db:
        return db.scalars(select(User).where(User.email == email)).one()


def token(two, email, scope):
    return administrators.token(two.site, scope, email)


def enabled_owners(two):
    with two.site.db() as db:
        return set(db.scalars(group_scopes.enabled_owners()))


def demote(_two, server, by, other):
    return server.delete(f"{OWNERS}/{other.user.id}", headers=by.headers)


def disable(_two, server, by, other):
    path = f"/v1/admin/users/{other.user.id}/disable"
    return server.post(path, headers=by.headers, json=WHY)


def delete(_two, server, by, other, *, now=False):
    body = WHY | {"email": other.user.email, "now": now}
    path = f"/v1/admin/users/{other.user.id}"
    return server.request("DELETE", path, headers=by.headers, json=body)


def erase(two, server, by, other):
    return delete(two, server, by, other, now=True)


def leave(_two, server, by, _other):
    """Delete the own account."""
    body = {"current_password": PASSWORD}
    return server.request("DELETE", "/v1/user", headers=by.headers, json=body)


def revoke(two, _server, _by, other):
    return authsite("admin", "revoke", other.user.email, "owner", ini=two.ini)


def revoke_own(two, _server, by, _other):
    return authsite("admin", "revoke", by.user.email, "owner", ini=two.ini)


def disable_by_command(two, _server, _by, other):
    return authsite("user", "disable", other.user.email, ini=two.ini)


def went(answer):
    """Whether an answer or a command says that it was done.

    If not, it must say that this is the last owner, or that the one who asks was one.
    """
    if hasattr(answer, "returncode"):
        if answer.returncode:
            assert answer.returncode == 1
            assert "the user is the last enabled owner" in answer.stderr
        return not answer.returncode
    if not answer.is_success:
        said = answer.status_code, answer.json()["errors"][0]["code"]
        assert said in {(409, "last_owner"), (403, "outranked")}, answer.text
    return answer.is_success


PAIRS = [
    (demote, demote),
    (disable, erase),
    (delete, demote),
    (leave, leave),
    (leave, revoke_own),
    (revoke, revoke),
    (demote, disable_by_command),
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_of_two_owners_who_go_at_once_one_stays(servers, first, second):
    """Both requests have come past the guard when the rows of the owners are free again."""
    for _ in range(volume(1, 5)):
        ann, bo = two_owners(servers)
        with ThreadPoolExecutor(2) as pool:
            with Session(servers.site.database.transactional) as db, db.begin():
                lock_all(db, [ann.user.id, bo.user.id])
                with until_processes_blocked(servers.site.database, 2):
                    answers = [
                        pool.submit(first, servers, servers.one, ann, bo),
                        pool.submit(second, servers, servers.other, bo, ann),
                    ]
            done = [went(answer.result(60)) for answer in answers]
        assert sorted(done) == [False, True]
        assert len(enabled_owners(servers)) == 1


@pytest.mark.skipif(not ALL, reason="many rounds")
def test_whatever_two_owners_do_at_once_one_stays(servers):
    acts = cycle(
        (first, second)
        for first in (demote, disable, delete, erase, leave)
        for second in (erase, leave, demote)
    )
    for _ in range(45):
        first, second = next(acts)
        ann, bo = two_owners(servers)
        answers = together(
            partial(first, servers, servers.one, ann, bo),
            partial(second, servers, servers.other, bo, ann),
        )
        # Who comes later may have no sign-in or no permission any more, or find the other gone.
        assert {answer.status_code for answer in answers} <= {200, 202, 204, 401, 403, 404, 409}
        assert any(answer.is_success for answer in answers)
        assert len(enabled_owners(servers)) == 1


def change_role(two, email, role, change):
    """What an owner decides, in a separate transaction."""
    with two.site.db() as db:
        user = db.scalars(select(User).where(User.email == email)).one()
        change(context(two.site, db), user, role, Cause("command"))


def groups_in(two, email):
    return names(user_of(two, email).labels)


@pytest.mark.parametrize("change", [roles.grant, roles.revoke])
def test_no_one_promotes_themselves_while_their_role_changes(servers, change):
    """Before the change the role does not allow it; after it, it would be the own groups."""
    for turn in range(volume(2, 20)):
        databases.empty(servers.site.database)
        administrators.make(servers.site, "owner", "root@example.com")
        administrators.make(servers.site, "security", "ann@example.com")
        if change is roles.revoke:
            change_role(servers, "ann@example.com", "owner", roles.grant)
        ann, headers = user_of(servers, "ann@example.com"), token(servers, "ann@example.com", SCOPE)
        one, other = (servers.one, servers.other) if turn % 2 else (servers.other, servers.one)
        viewer, owner = ("authsite:viewer", "authsite:owner")
        paths = [f"/v1/admin/groups/{each}/members/{ann.id}" for each in (viewer, owner)]
        _, *answers = together(
            partial(change_role, servers, "ann@example.com", "owner", change),
            *(
                partial(server.put, path, headers=headers)
                for server, path in zip((one, other), paths, strict=True)
            ),
        )
        refused = {
            (each.status_code, *(error["code"] for error in each.json()["errors"]))
            for each in answers
        }
        allowed = {(403, "insufficient_scope"), (403, "outranked")}
        if change is roles.revoke:
            # The token carries what is lost, so it ends with the role: one of the two may be late.
            allowed.add((401,))
            assert one.put(paths[0], headers=headers).status_code == 401
        assert refused <= allowed
        wanted = ["authsite:owner"] if change is roles.grant else []
        assert list(groups_in(servers, "ann@example.com")) == [*wanted, "authsite:security"]


def test_a_request_that_waits_while_the_role_is_lost_does_nothing(servers):
    two_owners(servers)
    cy = servers.site.user("cy@example.com", confirmed=True)
    headers = token(servers, "ann@example.com", SCOPE)
    with ThreadPoolExecutor(1) as pool:
        with Session(servers.site.database.transactional) as db, db.begin():
            lock_all(db, [cy.id])
            with until_processes_blocked(servers.site.database, 1):
                path = f"/v1/admin/users/{cy.id}/disable"
                answer = pool.submit(servers.one.post, path, headers=headers, json=WHY)
            ann = db.scalars(select(User).where(User.email == "ann@example.com")).one()
            roles.revoke(context(servers.site, db), ann, "owner", Cause("command"))
        answer = answer.result(60)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (403, "insufficient_scope")
    assert user_of(servers, "cy@example.com").disabled_at is None


def test_the_button_does_nothing_when_the_role_was_lost_after_the_page(servers):
    """The page is of one process, the button goes to the other."""
    two_owners(servers)
    cy = servers.site.user("cy@example.com", confirmed=True)
    browser = httpx.Client(base_url=servers.one.base_url, timeout=30)
    form = {"username": "ann@example.com", "password": PASSWORD}
    browser.post("/login", data={"csrf_token": csrf_of(browser.get("/login")), **form})
    with servers.site.db() as db:
        db.execute(update(BrowserSession).values(facts=pack(administrators.STRONG)))
    path = f"/admin/users/{cy.id}/disable"
    shown = browser.get(path)
    assert shown.status_code == 200, shown.text
    change_role(servers, "ann@example.com", "owner", roles.revoke)
    other = httpx.Client(base_url=servers.other.base_url, cookies=browser.cookies, timeout=30)
    sent = {"csrf_token": csrf_of(shown), **WHY}
    answer = other.post(path, data=sent)
    assert answer.status_code == 403
    assert user_of(servers, "cy@example.com").disabled_at is None
    change_role(servers, "ann@example.com", "security", roles.grant)
    assert other.post(path, data=sent).status_code == 303
    assert user_of(servers, "cy@example.com").disabled_at


def test_nothing_of_all_this_was_a_bug(servers):
    for server in (servers.one, servers.other):
        log = server.log.read_text(errors="replace")
        assert "internal_error" not in log
        assert "Traceback" not in log
