"""Deleting a user: disabled for a week, then erased; the last owner."""

from sqlalchemy import update

from authsite.platform.runtime import clock
from authsite.platform.tasks.cleanup import steps
from authsite.users.groups.labels import ADMIN_SCOPES
from authsite.users.models import User
from tests.support import administrators

from .calls import ALL, WHY, act, events, path, row, subjects


def delete(site, headers, user, status, **body):
    body = {**WHY, "email": user.email, **body}
    return site.http.delete_json(path(user), body, headers=headers, status=status)


def test_a_deleted_user_is_disabled_for_a_week_and_then_erased(site, root, ann):
    delete(site, root, ann, 422, email="bob@example.com")
    delete(site, root, ann, 422, reason=" ")
    at = delete(site, root, ann, 202, email="Ann@Example.com").json["delete_at"]
    assert delete(site, root, ann, 202).json["delete_at"] == at
    assert len(events(site, ann, "user.deletion_scheduled")) == 1
    [mail] = site.mails()
    assert "will be deleted" in mail["Subject"]
    assert "7 days" in mail.get_body(("plain",)).get_content()
    assert row(site, ann).disabled_at is not None
    purge(site)
    assert row(site, ann) is not None
    with site.db() as db:
        db.execute(update(User).where(User.id == ann.id).values(delete_at=clock.now()))
    purge(site)
    assert row(site, ann) is None
    assert events(site, ann, "user.erased") == [{"why": "due"}]


def test_who_is_enabled_again_is_not_erased(site, root, ann):
    delete(site, root, ann, 202)
    act(site, root, ann, "enable", {})
    assert row(site, ann).delete_at is None
    purge(site)
    assert row(site, ann) is not None


def test_only_an_owner_erases_at_once(site, root, ann):
    delete(site, root, ann, 403, now=True)
    administrators.make(site, "owner", "boss@example.com")
    boss = administrators.token(site, ALL, "boss@example.com")
    site.mails()
    delete(site, boss, ann, 204, now=True)
    assert row(site, ann) is None
    [details] = events(site, ann, "user.erased")
    assert (details["why"], details["reason"]) == ("administrator", WHY["reason"])
    assert subjects(site) == ["Your account at authsite was deleted"]
    site.http.get(path(ann), headers=boss, status=404)


def test_the_last_owner_stays(site):
    boss = administrators.make(site, "owner")
    headers = administrators.token(site, " ".join(ADMIN_SCOPES))
    assert act(site, headers, boss, "disable", status=409)["errors"][0]["code"] == "last_owner"
    assert delete(site, headers, boss, 409).json["errors"][0]["code"] == "last_owner"
    delete(site, headers, boss, 409, now=True)


def purge(site):
    """What the hourly cleanup does."""
    services = site.app.registry["authsite"]
    with site.database.autocommit.connect() as connection:
        for _step in steps(connection, services):
            pass
