"""Who invites: a link ends with the right of the inviter; limits; what is stored about people."""

import json
import threading

import pytest

from authsite.groups import administrators
from authsite.invitations import service
from authsite.invitations.errors import UnknownInvitation
from authsite.oauth.clients import service as clients
from authsite.oauth.models import Client
from authsite.platform.audit.service import Cause
from authsite.platform.runtime import clock
from authsite.users import service as users
from authsite.users.models import User
from authsite.users.service import erase
from tests.support import administrators as admins
from tests.support.factors import context
from tests.support.invitations import COMMAND
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD


def by(user):
    return Cause("user", str(user.id))


def loses(site, user, how):
    with site.db() as db:
        ctx, row = context(site, db), db.get(User, user.id)
        if how == "demoted":
            administrators.revoke(ctx, row, "security", COMMAND)
            administrators.grant(ctx, row, "support", COMMAND)
        elif how == "disabled":
            users.disable(ctx, row)
        else:
            erase(ctx, user.id, None)


@pytest.mark.parametrize("how", ["demoted", "disabled", "erased"])
def test_the_link_of_an_inviter_who_has_lost_the_right_is_dead(site, inviting, how):
    root = admins.make(site, "security")
    link = inviting.link(cause=by(root))
    site.http.get(link, status=200)
    row = inviting.invite("bo@example.com", cause=by(root))  # its mail is still to be sent
    loses(site, root, how)
    site.http.get(link, status=422)
    assert inviting.post(link, password=PASSWORD).status_int == 422
    assert inviting.user() is None
    assert [mail for mail in site.mails() if mail["To"] == "bo@example.com"] == []
    with site.db() as db:
        ctx = context(site, db)
        assert list(service.list_open(ctx, 10)) == []
        with pytest.raises(UnknownInvitation):
            service.resend(ctx, row.id, COMMAND)
        service.revoke(ctx, row.id, COMMAND)


def test_an_inviter_who_may_not_choose_groups_any_more(site, inviting):
    root = admins.make(site, "owner")
    admins.make(site, "owner", "other@example.com")
    with_group = inviting.link(group="ops", cause=by(root))
    without = inviting.link("bo@example.com", cause=by(root))
    with site.db() as db:
        ctx, row = context(site, db), db.get(User, root.id)
        administrators.grant(ctx, row, "security", COMMAND)
        administrators.revoke(ctx, row, "owner", COMMAND)
    site.http.get(with_group, status=422)
    site.http.get(without, status=200)


@pytest.mark.parametrize("how", ["disabled", "other scope", "deleted"])
def test_the_link_of_a_client_that_has_lost_the_right_is_dead(site, inviting, how):
    with site.db() as db:
        made, _ = clients.create(context(site, db), "hr", "personal", "admin:invitations:write", "")
    cause = Cause("client", str(made.id))
    link = inviting.link(cause=cause)
    site.http.get(link, status=200)
    inviting.invite(group="ops", cause=cause)  # may not choose a group
    assert site.mails() == []
    with site.db() as db:
        row = db.get(Client, made.id)
        if how == "deleted":
            db.delete(row)
        elif how == "disabled":
            row.disabled_at = clock.now()
        else:
            row.scope = "admin:invitations:writer xadmin:invitations:write"
    site.http.get(link, status=422)


@pytest.mark.parametrize("promoted", [False, True])
def test_an_invitation_of_a_client_adds_no_administrator_to_a_group(site, inviting, promoted):
    """A client does not act at members of authsite:*, at those of a later time either."""
    ann = site.user(confirmed=True)
    scope = "admin:invitations:write admin:groups:write"
    with site.db() as db:
        made, _ = clients.create(context(site, db), "hr", "personal", scope, "")
    link = inviting.link(group="ops", cause=Cause("client", str(made.id)))
    if promoted:
        with site.db() as db:
            administrators.grant(context(site, db), db.get(User, ann.id), "viewer", COMMAND)
    sign_in(site)
    answer = inviting.accept(link)
    assert answer.status_int == (403 if promoted else 303)
    assert ("Ask an owner" in answer.text) is promoted
    assert inviting.user().labels == ("authsite:viewer" if promoted else "ops")
    assert len(inviting.rows()) == promoted


@pytest.mark.parametrize("own", [False, True])
def test_an_owner_joins_by_the_invitation_of_another_owner_alone(site, inviting, own):
    """No one changes their own groups."""
    root, other = admins.make(site, "owner"), admins.make(site, "owner", "other@example.com")
    link = inviting.link("root@example.com", "ops", by(root if own else other))
    sign_in(site, "root@example.com")
    assert inviting.accept(link).status_int == (403 if own else 303)
    labels = inviting.user("root@example.com").labels
    assert labels == ("authsite:owner" if own else "authsite:owner ops")


def test_an_erased_inviter_leaves_no_id_and_no_invitation_that_a_command_seems_to_have_sent(
    site, inviting
):
    root = admins.make(site, "security")
    inviting.invite(cause=by(root))
    loses(site, root, "erased")
    [row] = inviting.rows()
    assert row.inviter_id is None
    assert row.expires_at <= clock.now()


def test_the_export_has_the_invitations_of_a_person_and_no_address_of_another(site, inviting):
    root = admins.make(site, "security")
    inviting.invite("root@example.com", "ops")
    inviting.invite("bo@example.com", cause=by(root))
    sign_in(site, "root@example.com")
    answer = submit(site, "/account/export", page="/account", current_password=PASSWORD)
    data = json.loads(answer.text)
    assert [(row["email"], row["group_name"]) for row in data["invitations"]] == [
        ("root@example.com", "ops")
    ]
    assert len(data["sent_invitations"]) == 1
    assert "bo@example.com" not in json.dumps(
        {name: part for name, part in data.items() if name != "mails"}
    )


def test_what_is_not_the_same_invitation_is_another_one(inviting):
    first = inviting.invite()
    assert inviting.invite().id == first.id
    assert inviting.invite("Ann@EXAMPLE.com").id == first.id
    assert inviting.invite(group="ops").id != first.id


@pytest.mark.both_databases
def test_of_two_who_use_a_link_at_once_one_registers(site, inviting):
    link = inviting.link(group="ops")
    shown = site.http.get(link)
    form = {"csrf_token": csrf_of(shown), "token": link.rpartition("/")[2], "password": PASSWORD}
    answers, ready = [], threading.Barrier(2)

    def accept():
        ready.wait(10)
        answers.append(site.http.post("/invitation", form, status="*").status_int)

    threads = [threading.Thread(target=accept) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers.count(303) == 1
    assert site.events().count("user.created") == 1
    assert site.events().count("invitation.accepted") == 1
