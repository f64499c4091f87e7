"""Tokens that came from a code end with the browser session, or outlive it (offline_access)."""

from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import select, update

from authsite.account import sessions as active_sessions
from authsite.admin.guard import COMMAND
from authsite.admin.users import actions
from authsite.oauth.codes.models import AuthorizationCode
from authsite.oauth.codes.session_end import WHY
from authsite.sign_in.sessions import service
from authsite.sign_in.sessions.models import BrowserSession, purge
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.codes import OPENID, application, code_of, redeem, session_of
from tests.support.locks import until_blocked
from tests.support.pages import sign_in, submit
from tests.support.site import Site, bearer
from tests.support.statements import stepping_between

OFFLINE = "openid offline_access"


def is_active(site, app, tokens):
    return site.introspect(app, tokens["access_token"])["active"]


def by_the_logout_page(site):
    submit(site, "/logout")


def by_the_list_of_sessions(site):
    submit(site, f"/account/sessions/{session_of(site).id}/end", page="/account")


def by_another_user(site):
    site.user("bob@example.com")
    sign_in(site, "bob@example.com", page="/login?prompt=login")


def by_a_raised_epoch(site):
    submit(site, "/account/sessions/end-others", page="/account")


@pytest.mark.both_databases
@pytest.mark.parametrize("end", [by_the_logout_page, by_the_list_of_sessions, by_another_user])
def test_the_end_of_a_session_ends_its_families_without_offline_access(site, end):
    app = application(site)
    tokens = redeem(site, app, code_of(site, app))
    offline = redeem(site, app, code_of(site, app, OFFLINE))
    waiting = code_of(site, app, OFFLINE)
    end(site)
    assert not is_active(site, app, tokens)
    site.refresh(app, tokens["refresh_token"], status=400)
    assert is_active(site, app, offline)
    site.refresh(app, offline["refresh_token"])
    assert redeem(site, app, waiting, 400)["error"] == "invalid_grant"
    assert [family.revoked_why for family in site.families()] == [WHY, None]
    assert site.events().count("token.revoked") == 1


def by_another_sign_in(site, session):
    own = Site(site.url, **OPENID)
    sign_in(own)
    submit(own, f"/account/sessions/{session.id}/end", page="/account/security")
    own.database.dispose()


def by_an_administrator(site, session):
    with site.db() as db:
        ctx = acting(db, site.app.registry["authsite"])
        user = db.get(User, session.user_id)
        actions.end_session(ctx, COMMAND, user, session.id)


@pytest.mark.both_databases
@pytest.mark.parametrize("end", [by_another_sign_in, by_an_administrator])
def test_who_ends_another_sign_in_ends_what_outlives_the_session_too(site, end):
    app = application(site)
    session = session_of(site)
    offline = redeem(site, app, code_of(site, app, OFFLINE))
    waiting = code_of(site, app, OFFLINE)
    end(site, session)
    assert not is_active(site, app, offline)
    assert site.refresh(app, offline["refresh_token"], status=400)["error"] == "invalid_grant"
    assert redeem(site, app, waiting, 400)["error"] == "invalid_grant"
    assert [family.revoked_why for family in site.families()] == [WHY]


def test_an_end_from_an_application_of_the_session_is_one_from_another_sign_in(site):
    """Of the two entries in the list only one is that of the application."""
    app = application(site, first_party=True, scope="account")
    tokens = redeem(site, app, code_of(site, app, f"{OFFLINE} account"))
    other = redeem(site, app, code_of(site, app, OFFLINE))
    headers = bearer(tokens["access_token"])
    site.http.delete(f"/v1/user/sessions/{session_of(site).id}", headers=headers, status=204)
    assert not is_active(site, app, tokens)
    assert not is_active(site, app, other)


def test_a_raised_epoch_ends_all_of_them(site):
    app = application(site)
    tokens = redeem(site, app, code_of(site, app, OFFLINE))
    waiting = code_of(site, app)
    by_a_raised_epoch(site)
    assert not is_active(site, app, tokens)
    redeem(site, app, waiting, 400)


def test_a_scope_that_looks_like_offline_access_ends_too(site):
    app = application(site)
    tokens = redeem(site, app, code_of(site, app, "openid offlineXaccess my_offline_access"))
    by_the_logout_page(site)
    assert not is_active(site, app, tokens)


def test_a_purged_session_ends_nothing(frozen, site):
    """Idle since yesterday; its end is not known any more, so the tokens do not get longer."""
    app = application(site)
    tokens = redeem(site, app, code_of(site, app))
    [before] = site.families()
    frozen.advance(timedelta(hours=13).total_seconds())
    with site.database.autocommit.connect() as connection:
        for _ in purge(connection, frozen.at, site.cfg):
            pass
    assert session_of(site) is None
    tokens = site.refresh(app, tokens["refresh_token"])
    assert is_active(site, app, tokens)
    [family] = site.families()
    assert family.refresh_expires_at == before.refresh_expires_at
    assert family.session_id == before.session_id


def test_a_refresh_token_ends_with_the_session_at_the_latest(frozen, site):
    app = application(site)
    ends = session_of(site).expires_at
    tokens = redeem(site, app, code_of(site, app))
    frozen.advance(3600)
    redeem(site, app, code_of(site, app, OFFLINE))
    bound, offline = site.families()
    assert bound.refresh_expires_at == ends < offline.refresh_expires_at
    assert tokens["expires_in"] <= (ends - bound.created_at).total_seconds()
    site.refresh(app, tokens["refresh_token"])
    assert site.families()[0].refresh_expires_at == ends


def test_a_session_that_goes_on_lengthens_its_families(frozen, site):
    app = application(site)
    tokens = redeem(site, app, code_of(site, app))
    frozen.advance(3600)
    sign_in(site, page="/login?prompt=login")  # the same user: the session goes on
    later = session_of(site).expires_at
    tokens = site.refresh(app, tokens["refresh_token"])
    assert site.families()[0].refresh_expires_at == later
    assert is_active(site, app, tokens)


def test_a_code_of_a_session_that_has_expired_is_refused(site):
    app = application(site)
    code, offline = code_of(site, app), code_of(site, app, OFFLINE)
    with site.db() as db:
        past = session_of(site).created_at - timedelta(hours=1)
        db.execute(update(BrowserSession).values(expires_at=past))
    redeem(site, app, code, 400)
    redeem(site, app, offline)


def test_a_family_of_a_client_in_a_browser_ends_after_a_day(frozen, site):
    app = application(site, type="browser")
    tokens = redeem(site, app, code_of(site, app, OFFLINE))
    [family] = site.families()
    assert family.refresh_expires_at == family.created_at + timedelta(hours=24)
    frozen.advance(timedelta(hours=23, minutes=30).total_seconds())
    tokens = site.refresh(app, tokens["refresh_token"])
    assert tokens["expires_in"] == 1800
    frozen.advance(1800)
    assert not is_active(site, app, tokens)
    site.refresh(app, tokens["refresh_token"], status=400)


@pytest.mark.parametrize("disowned", [False, True])
def test_a_session_ended_while_a_code_is_redeemed_leaves_no_family(site, disowned):
    """The row of the session is deleted, and its transaction goes on: the code waits for it."""
    app = application(site)
    session, code = session_of(site), code_of(site, app, OFFLINE)
    with ThreadPoolExecutor(1) as pool:
        with site.db() as db:
            ctx = acting(db, site.app.registry["authsite"])
            service.end(ctx, session.user_id, session.id, disowned=disowned)
            redeemed = pool.submit(redeem, site, app, code, 400)
            assert not wait([redeemed], timeout=0.5).done
        assert redeemed.result(20)["error"] == "invalid_grant"
    assert site.families() == []


@pytest.mark.both_databases
def test_an_identity_that_ends_waits_for_a_code_that_is_redeemed_and_not_the_code_for_it(site):
    """A code is locked when it is redeemed, and then its session."""
    app, session, identity_id = application(site), session_of(site), uuid4()
    with site.db() as db:
        db.get(BrowserSession, session.id).identity_id = identity_id
    code_of(site, app, OFFLINE, session=session_of(site))
    services = site.app.registry["authsite"]

    def end():
        with site.db() as db:
            ctx = acting(db, services)
            return active_sessions.end_begun_with(ctx, session.user_id, identity_id, None)

    with ThreadPoolExecutor(1) as pool:
        with site.db() as db:
            db.execute(select(AuthorizationCode.id).with_for_update())
            with until_blocked(site.database):
                ending = pool.submit(end)
            db.execute(select(BrowserSession.id).with_for_update(read=True, key_share=True))
        assert ending.result(20) == [session.id]
    with site.db() as db:
        assert db.scalars(select(AuthorizationCode)).all() == []


def test_tokens_that_are_refreshed_while_another_sign_in_ends_theirs_are_refused(site):
    app = application(site)
    session, tokens = session_of(site), redeem(site, app, code_of(site, app, OFFLINE))
    with ThreadPoolExecutor(1) as pool:
        with site.db() as db:
            ctx = acting(db, site.app.registry["authsite"])
            service.end(ctx, session.user_id, session.id, disowned=True)
            refreshed = pool.submit(site.refresh, app, tokens["refresh_token"], status=400)
            assert not wait([refreshed], timeout=0.5).done
        assert refreshed.result(20)["error"] == "invalid_grant"
    [family] = site.families()
    assert (family.generation, family.revoked_why) == (0, WHY)


def test_a_family_that_is_issued_while_another_sign_in_ends_its_session_ends_with_it(site):
    """The code has locked the session: who ends it waits, and then sees the family."""
    app = application(site)
    session, code = session_of(site), code_of(site, app, OFFLINE)
    other = Site(site.url, **OPENID)
    services = other.app.registry["authsite"]

    def end():
        with other.db() as db:
            assert service.end(acting(db, services), session.user_id, session.id, disowned=True)

    with ThreadPoolExecutor(1) as pool:
        ending = []
        inserted = (site.database.prepared, "after", "INSERT INTO families")
        with stepping_between(*inserted, lambda: ending.append(pool.submit(end))) as done:
            tokens = redeem(site, app, code)
        ending[0].result(20)
    assert done
    other.database.dispose()
    assert not is_active(site, app, tokens)
