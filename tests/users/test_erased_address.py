"""Erasing a user also ends what was sent to the address before there was an account."""

from sqlalchemy import func, select

from authsite.invitations import service
from authsite.invitations.models import Invitation
from authsite.platform.audit.service import Cause
from authsite.platform.mail.outbox import OutboxMessage
from authsite.users.service import erase
from tests.support.acting import acting
from tests.support.site import PASSWORD, bearer

OTHER = "other@example.com"


def invite(site, *addresses):
    with site.db() as db:
        ctx = acting(db, site.app.registry["authsite"], base_urls=("http://localhost",))
        for each in addresses:
            service.create(ctx, each, None, Cause("command"))


def left(site):
    """The invitations and their mails."""
    with site.db() as db:
        mails = select(func.count()).where(OutboxMessage.kind == "invitation")
        return list(db.scalars(select(Invitation.email))), db.scalar(mails)


def test_invitations_to_the_address_end_with_their_mails(site):
    invite(site, "Ann@example.com", OTHER)
    site.user("ann@example.com", confirmed=True)
    invite(site, "third@example.com")
    token = site.login(site.client())["access_token"]
    body = {"current_password": PASSWORD}
    site.http.delete_json("/v1/user", body, headers=bearer(token), status=204)
    assert left(site) == ([OTHER, "third@example.com"], 2)


def test_who_has_registered_the_address_of_another_person_takes_nothing_along(site):
    """The owner of the address deletes that account."""
    invite(site, "ann@example.com")
    user = site.user("ann@example.com")
    with site.db() as db:
        erase(acting(db, site.app.registry["authsite"]), user.id, None, why="disowned")
    assert left(site) == (["ann@example.com"], 1)


def test_nor_does_who_registers_it_and_deletes_the_account(site):
    """Else a stranger could take an invitation back."""
    invite(site, "ann@example.com")
    site.user("ann@example.com")
    token = site.login(site.client())["access_token"]
    body = {"current_password": PASSWORD}
    site.http.delete_json("/v1/user", body, headers=bearer(token), status=204)
    assert left(site) == (["ann@example.com"], 1)
