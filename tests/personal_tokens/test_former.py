"""Personal access tokens of the version before, which have their rows among the families."""

import pytest
from sqlalchemy import func, select, update

from authsite.oauth import tokens
from authsite.oauth.models import Family, PersonalToken
from authsite.platform.db import upgrades
from authsite.users.models import User
from tests.support import databases
from tests.support.mails import text_of
from tests.support.personal import create, created, listed, revoke, with_ann
from tests.support.purging import purged
from tests.support.site import WEB, Site, bearer
from tests.support.statements import counted


@pytest.fixture
def ann(fresh_url):
    """Ann on a database whose upgrade is not finished: the version before may still run."""
    site = Site(databases.upgraded(fresh_url), **WEB)
    yield with_ann(site)
    site.database.dispose()


def finish(site):
    with site.database.transactional.begin() as connection:
        upgrades.finish(connection)


def rows(site):
    """How many rows the two tables have: that of before, and that of personal access tokens."""
    former = select(func.count()).where(Family.kind == "pat")
    with site.db() as db:
        return db.scalar(former), db.scalar(select(func.count()).select_from(PersonalToken))


def test_until_the_upgrade_is_finished_a_new_token_is_as_of_before(ann):
    assert rows(ann) == (1, 0)
    keys = ann.app.registry["authsite"].keys
    decoded = tokens.decode_expired(keys, tokens.PERSONAL_TOKEN, ann.personal)
    with ann.db() as db:
        row = db.get(Family, decoded.family_id)
    # What the version before looks for.
    assert (row.kind, row.generation, row.client_id, row.name) == ("pat", 0, None, "backup")
    assert decoded.generation == 0


def test_after_that_both_kinds_are_used_listed_and_revoked_alike(ann):
    finish(ann)
    new = created(ann, ann.login_of_ann, name="new")
    assert rows(ann) == (1, 1)
    for token in (ann.personal, new):
        ann.me(token)  # its first use is written
    with counted(ann.database) as statements:
        ann.me(ann.personal)
        ann.me(new)
    assert len(statements) == 2  # one for each
    found = {item["name"]: item["id"] for item in listed(ann, ann.login_of_ann)}
    assert list(found) == ["new", "backup"]
    revoke(ann, ann.login_of_ann, found["backup"])
    ann.me(ann.personal, status=401)
    ann.me(new)
    revoke(ann, ann.login_of_ann, found["new"])
    ann.me(new, status=401)
    assert listed(ann, ann.login_of_ann) == []


def test_one_of_before_is_still_no_login_and_of_no_session(ann):
    for finished in (False, True):
        if finished:
            finish(ann)
        answer = create(ann, ann.personal, status=403)
        assert answer.json["errors"][0]["code"] == "login_required"
        [session] = ann.http.get("/v1/user/sessions", headers=bearer(ann.login_of_ann)).json[
            "sessions"
        ]
        assert (session["kind"], session["tokens"]) == ("app", [])


def test_one_of_before_is_revoked_alone_by_a_logout(ann):
    ann.logout(ann.personal)
    ann.me(ann.personal, status=401)
    ann.me(ann.login_of_ann)


def test_a_resource_server_is_told_about_both_kinds(ann):
    server = ann.client("resource-server")
    finish(ann)
    for token in (ann.personal, created(ann, ann.login_of_ann, scope="a")):
        answer = ann.introspect(server, token)
        assert (answer["active"], answer["scope"], answer["sub"]) == (True, "a", str(ann.ann.id))
        assert "client_id" not in answer
        assert ann.introspect(ann.keys, token) == {"active": False}


def test_the_mail_about_one_of_before_has_its_name(ann):
    [*_, mail] = ann.mails()
    assert "“backup”" in " ".join(text_of(mail).split())


def test_expired_ones_of_before_are_purged_with_the_families(ann):
    with ann.db() as db:
        expired = Family.created_at
        db.execute(update(Family).where(Family.kind == "pat").values(refresh_expires_at=expired))
    assert purged(ann)["families"] == 1
    assert rows(ann) == (0, 0)


def test_a_raised_epoch_ends_both_kinds(ann):
    finish(ann)
    new = created(ann, ann.login_of_ann)
    with ann.db() as db:
        db.execute(update(User).values(epoch=User.epoch + 1))
    for token in (ann.personal, new):
        ann.me(token, status=401)
