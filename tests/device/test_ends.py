"""What happens between an answer and the tokens, and what the tokens end with."""

from datetime import timedelta

import pytest

from authsite.oauth.consents import service as consents
from authsite.oauth.device.service import purge
from authsite.oauth.models import Client
from authsite.platform.runtime import clock
from authsite.users import service as users
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.authorizing import BASE
from tests.support.codes import codes, session_of
from tests.support.devices import allow, deny, poll, refused, rows, start, tool
from tests.support.pages import submit


def user_epoch(site, app):
    with site.db() as db:
        users.end_sign_ins(acting(db, site.app.registry["authsite"]), session_of(site).user_id)


def user_disabled(site, app):
    with site.db() as db:
        db.get(User, session_of(site).user_id).disabled_at = clock.now()


def user_erased(site, app):
    with site.db() as db:
        db.delete(db.get(User, session_of(site).user_id))


def client_epoch(site, app):
    with site.db() as db:
        db.get(Client, app.id).epoch += 1


def session_ended(site, app):
    submit(site, "/logout")


def consent_withdrawn(site, app):
    with site.db() as db:
        ctx = acting(db, site.app.registry["authsite"])
        consents.withdraw(ctx, session_of(site).user_id, app.id)


ENDS = [user_epoch, user_disabled, user_erased, client_epoch, session_ended, consent_withdrawn]


@pytest.mark.parametrize("end", ENDS)
def test_what_ends_an_approval(site, end):
    app = tool(site)
    started = start(site, app, scope="openid offline_access")
    allow(site, started)
    end(site, app)
    assert refused(site, app, started) == "invalid_grant"
    assert site.families() == []


def test_a_disabled_client_learns_nothing(site):
    app = tool(site)
    started = start(site, app)
    allow(site, started)
    with site.db() as db:
        db.get(Client, app.id).disabled_at = clock.now()
    assert poll(site, app, started, 401)["error"] == "invalid_client"


def test_a_changed_client_does_not_wait_on(site):
    app = tool(site)
    started = start(site, app)
    client_epoch(site, app)
    assert refused(site, app, started) == "invalid_grant"


@pytest.mark.parametrize(("scope", "lives"), [("openid", False), ("openid offline_access", True)])
def test_the_tokens_end_with_the_browser_session_unless_they_may_outlast_it(site, scope, lives):
    app = tool(site)
    started = start(site, app, scope=scope)
    allow(site, started)
    tokens = poll(site, app, started)
    submit(site, "/logout")
    form = {"client_id": app.client_id, "refresh_token": tokens["refresh_token"]}
    form["grant_type"] = "refresh_token"
    answer = site.http.post(f"{BASE}/v1/oauth/token", form, status="*")
    assert answer.status_int == (200 if lives else 400)


def test_an_erased_user_takes_the_codes_along(site):
    app = tool(site)
    waiting, allowed, denied = (start(site, app) for _ in range(3))
    allow(site, allowed)
    deny(site, denied)
    user_erased(site, app)
    assert [row.user_id for row in rows(site)] == [None]
    assert codes(site) == []
    assert refused(site, app, waiting) == "authorization_pending"


def test_codes_are_deleted_a_day_after_their_end(frozen, site):
    app = tool(site)
    started = start(site, app)
    deny(site, started)
    start(site, app)
    frozen.advance(timedelta(hours=24, minutes=9).total_seconds())

    def purged():
        with site.database.autocommit.connect() as connection:
            return sum(batch.deleted for batch in purge(connection, frozen.at, site.cfg))

    assert purged() == 0
    frozen.advance(120)
    assert purged() == 2
    assert rows(site) == []
    assert refused(site, app, started) == "invalid_grant"
