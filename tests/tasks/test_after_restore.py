"""A backup is restored: nothing that was ended or used since it was made works again."""

from datetime import timedelta

import pytest

from authsite.cli.db import Ended, end_everything
from authsite.oauth.clients import service
from authsite.platform.db.base import Base
from authsite.platform.mail.outbox import OutboxMessage
from authsite.platform.runtime import clock
from authsite.users import former
from authsite.users.models import User
from tests.support import databases
from tests.support.acting import acting
from tests.support.pages import sign_in
from tests.support.personal import created
from tests.support.site import PASSWORD, WEB

NEW = "a purple wolf at tea 77"


@pytest.fixture
def site(site_with):
    made = site_with(**WEB)
    made.keys = made.first_party("web")
    made.ann = made.user(confirmed=True)
    return made


def rows_of(site):
    """A backup: every row of every table."""
    with site.database.autocommit.connect() as connection:
        return {
            table: [dict(row) for row in connection.execute(table.select()).mappings()]
            for table in Base.metadata.sorted_tables
        }


def restore(site, backup):
    """Put the rows of ``backup`` in the place of all others, and end what they brought back."""
    databases.empty(site.database)
    with site.database.transactional.begin() as connection:
        for table, rows in backup.items():
            if rows:
                connection.execute(table.insert(), [without_id(table, row) for row in rows])
    with site.db() as db:
        return end_everything(acting(db))


def without_id(table, row):
    """Numbered rows get a number from the database again."""
    return {key: row[key] for key in row if (table.name, key) != ("audit_events", "id")}


def reset(site, token, status):
    body = {"email": "ann@example.com", "token": token, "password": NEW}
    return site.http.post_json("/v1/password/reset", body, status=status)


def test_tokens_of_the_backup_are_dead(site):
    tokens = site.login(site.keys)
    personal = created(site, tokens["access_token"])
    machine = site.client("personal")
    acts_alone = site.token(machine, grant_type="client_credentials").json
    backup = rows_of(site)
    later = site.refresh(site.keys, tokens["refresh_token"])
    site.logout(later["access_token"])
    assert restore(site, backup) == Ended(users=1, clients=2, mails=1)
    for token in (tokens, later, acts_alone):
        site.me(token["access_token"], status=401)
    site.me(personal, status=401)
    for token, keys in ((tokens, site.keys), (later, site.keys), (acts_alone, machine)):
        error = site.refresh(keys, token["refresh_token"], status=400)
        assert error["error"] == "invalid_grant"
    site.me(site.login(site.keys)["access_token"])


def test_browser_sessions_of_the_backup_are_over(site):
    sign_in(site)
    site.http.get("/account", status=200)
    restore(site, rows_of(site))
    site.http.get("/account", status=302)


def test_reset_links_that_were_mailed_before_or_after_the_backup_are_dead(site):
    before = site.reset_token(site.ann)
    backup = rows_of(site)
    used = [before]
    for _ in range(3):  # each raises the counter that the links are bound to
        reset(site, used[-1], 200)
        used.append(site.reset_token(site.ann))
    restore(site, backup)
    for token in used:
        reset(site, token, 422)
    reset(site, site.reset_token(site.ann), 200)


def test_a_change_of_address_that_was_canceled_is_over(site):
    with site.db() as db:
        in_an_hour = clock.now() + timedelta(hours=1)
        former.begin(db, site.ann.id, site.ann.epoch, "eve@example.org", in_an_hour, by_link=False)
    backup = rows_of(site)
    with site.db() as db:
        former.end(db, site.ann.id)
    restore(site, backup)
    with site.db() as db:
        ann = db.get(User, site.ann.id)
        assert (ann.pending_email, former.find_pending(db, ann.id)) == (None, None)


def test_mails_that_may_have_been_sent_are_held_back_until_an_operator_sends_them(site):
    asked = {"email": "ann@example.com", "reset_url": "http://localhost/password/reset"}
    site.http.post_json("/v1/password/forgot", asked, status=202)
    backup = rows_of(site)
    assert len(site.mails()) == 1
    assert restore(site, backup).mails == 1
    assert site.mails() == []
    with site.db() as db:
        [mail] = db.query(OutboxMessage).all()
        assert (mail.state, mail.lease_owner) == ("dead", None)
        assert "backup was restored" in mail.last_error


def test_a_client_that_was_disabled_after_the_backup_has_no_living_token(site):
    tokens = site.login(site.keys)
    backup = rows_of(site)
    with site.db() as db:
        service.disable(acting(db), db.query(service.Client).one().id)
    restore(site, backup)
    site.me(tokens["access_token"], status=401)


def test_the_restore_is_in_the_audit_trail_and_may_be_repeated(site):
    backup = rows_of(site)
    for _ in range(2):
        restore(site, backup)
    with site.db() as db:
        end_everything(acting(db))
    assert site.events().count("database.restored") == 2
    assert site.login(site.keys, password=PASSWORD)
