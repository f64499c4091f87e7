"""What was asked for at a user does not take place after the user became an administrator."""

from datetime import timedelta

import pytest

from authsite.admin.guard import COMMAND, Administrator
from authsite.admin.users import actions
from authsite.groups import administrators
from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from authsite.users import former
from authsite.users.groups.labels import ADMIN_SCOPES
from authsite.users.models import FormerAddress, User
from tests.support.administrators import make
from tests.support.factors import context
from tests.support.mails import link_in
from tests.support.pages import submit

NEW = "other@example.com"


@pytest.fixture
def ann(site):
    """The user of the site, whose address has been confirmed for a year."""
    with site.db() as db:
        user = db.query(User).filter_by(email="ann@example.com").one()
        user.email_verified_at = clock.now() - timedelta(days=365)
    return user


def at(site, user, act):
    """Do something at the user, in a separate transaction."""
    with site.db() as db:
        return act(context(site, db), db.get(User, user.id))


def as_user(user):
    """An owner who does it, not a command."""
    return Administrator("user", ADMIN_SCOPES, user.id)


def promote(site, email="ann@example.com"):
    with site.db() as db:
        user = db.query(User).filter_by(email=email).one()
        administrators.grant(context(site, db), user, "support", COMMAND.cause())


@pytest.mark.parametrize("promoted", [False, True])
def test_the_link_to_a_new_address_that_an_administrator_has_proposed(site, ann, promoted):
    at(site, ann, lambda ctx, user: actions.change_email(ctx, COMMAND, user, NEW, None))
    link = next(link_in(mail) for mail in site.mails() if mail["To"] == NEW)
    if promoted:
        promote(site)
    shown = site.http.get(link, status="*")
    if shown.forms:
        submit(site, "/email/verify", page=link, url=shown.forms[0]["url"].value)
    with site.db() as db:
        assert db.get(User, ann.id).email == ("ann@example.com" if promoted else NEW)
        events = db.query(AuditEvent).filter_by(event="email.change_canceled").all()
    assert [each.details["actor"]["kind"] for each in events] == ["command"] * promoted


@pytest.mark.parametrize("promoted", [False, True])
def test_the_link_that_takes_a_confirmed_change_back(site, ann, promoted):
    by = as_user(make(site, "owner", "root@example.com"))

    def change(ctx, user):
        actions.change_email(ctx, by, user, NEW, "asked for", confirmed=True)

    at(site, ann, change)
    with site.db() as db:
        [row] = db.query(FormerAddress).all()
        assert former.find(db, row.id)
    if promoted:
        promote(site, NEW)
    with site.db() as db:
        assert (former.find(db, row.id) is None) is promoted


@pytest.mark.parametrize("promoted", [False, True])
def test_a_mailed_reset_link(site, ann, promoted):
    token = site.reset_token(ann)
    if promoted:
        promote(site)
    body = {"email": ann.email, "token": token, "password": "purple wolf 77 tea"}
    site.http.post_json("/v1/password/reset", body, status=422 if promoted else 200)


@pytest.mark.parametrize("promoted", [False, True])
def test_a_deletion_that_was_to_come(site, ann, promoted):
    """The user stays disabled."""
    root = as_user(make(site, "owner", "root@example.com"))

    def delete(ctx, user):
        actions.delete(ctx, root, user, "asked for", user.email)

    at(site, ann, delete)
    if promoted:
        promote(site)
    with site.database.autocommit.connect() as connection:
        services = site.app.registry["authsite"]
        list(actions.erase_due(services, connection, clock.now() + timedelta(days=8)))
    with site.db() as db:
        left = db.get(User, ann.id)
        assert (left is not None) is promoted
        assert left is None or left.disabled_at


def test_sign_ins_stay_and_a_repeated_promotion_ends_nothing(site, ann):
    keys = site.client()
    tokens = site.login(keys)
    promote(site)
    site.me(tokens["access_token"])
    token = site.reset_token(ann)
    promote(site)
    body = {"email": ann.email, "token": token, "password": "purple wolf 77 tea"}
    site.http.post_json("/v1/password/reset", body, status=200)
