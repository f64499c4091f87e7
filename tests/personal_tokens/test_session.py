"""A personal access token knows the session in which it was created, and the client of that."""

from uuid import UUID

import pytest
from sqlalchemy import select, update

from authsite.oauth.models import Client, PersonalToken
from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from tests.support.authorizing import BASE, OPENID, application, code_for, redeemed
from tests.support.pages import sign_in, submit
from tests.support.personal import create, created, errors, listed, with_ann
from tests.support.site import PASSWORD, WEB, Site, bearer
from tests.support.statements import stepping_between

SESSIONS = "/v1/user/sessions"


@pytest.fixture
def ann(site_with):
    """A site with Ann, her login, and the personal access token that was created with it."""
    return with_ann(site_with(**WEB))


def sessions(site, login):
    return site.http.get(SESSIONS, headers=bearer(login)).json["sessions"]


def session_of(site, login):
    """The id of the session to which an access token belongs."""
    return next(item["id"] for item in sessions(site, login) if item["current"])


def end(site, login, session, status=204, **body):
    """DELETE of a session with another login; without ``body`` none is sent."""
    path, headers = f"{SESSIONS}/{session}", bearer(login)
    if body:
        return site.http.delete_json(path, body, headers=headers, status=status)
    return site.http.delete(path, headers=headers, status=status)


def form_of(site, session):
    """The form of the page that ends a session."""
    page = site.http.get("/account/security")
    path = f"/account/sessions/{session}/end"
    return next(form for form in page.forms.values() if form.action.endswith(path))


@pytest.mark.control("T19")
def test_l3_disabling_the_client_ends_the_tokens_that_were_created_with_it(ann):
    others = created(ann, ann.login(ann.client())["access_token"])
    other = Site(ann.url, **WEB)
    for disabled_at in (clock.now(), None):  # a client that is enabled again has none of its tokens
        with ann.db() as db:
            changes = {"epoch": Client.epoch + 1, "disabled_at": disabled_at}
            which = Client.id == UUID(ann.keys.client_id)
            db.execute(update(Client).where(which).values(changes))
        for site in (ann, other):
            site.me(ann.personal, status=401)
            site.me(others)
    other.database.dispose()


@pytest.mark.control("T19")
def test_l3_ending_the_session_ends_what_was_created_in_it(ann):
    owner = ann.login(ann.keys)["access_token"]
    mine = created(ann, owner)
    session = session_of(ann, ann.login_of_ann)
    [shown] = [item["tokens"] for item in sessions(ann, owner) if item["id"] == session]
    [token] = [item["id"] for item in listed(ann, owner) if item["scope"] == "a"]
    assert shown == [{"id": token, "name": "backup"}]
    end(ann, owner, session)
    ann.me(ann.personal, status=401)
    ann.me(mine)
    assert len(listed(ann, owner)) == 1
    with ann.db() as db:
        events = select(AuditEvent).where(AuditEvent.event == Event.TOKEN_REVOKED)
        event = db.scalars(events.order_by(AuditEvent.id.desc())).first()
    assert event.details == {"token": token, "why": "its session was ended"}


def test_it_goes_on_if_the_caller_says_so(ann):
    owner = ann.login(ann.keys)["access_token"]
    end(ann, owner, session_of(ann, ann.login_of_ann), revoke_tokens=False)
    ann.me(ann.login_of_ann, status=401)
    ann.me(ann.personal)


def test_what_is_neither_true_nor_false_ends_nothing(ann):
    owner = ann.login(ann.keys)["access_token"]
    session = session_of(ann, ann.login_of_ann)
    for value in ("no", "", "true", "false", 0, 1, [], {}):
        answer = end(ann, owner, session, status=422, revoke_tokens=value)
        assert errors(answer) == [("invalid", "revoke_tokens")]
    ann.me(ann.login_of_ann)
    ann.me(ann.personal)
    end(ann, owner, session, revoke_tokens=True)
    ann.me(ann.personal, status=401)


def test_another_user_s_session_and_its_tokens_are_out_of_reach(ann):
    ann.user("eve@example.com")
    eve = ann.login(ann.keys, "eve@example.com")["access_token"]
    end(ann, eve, session_of(ann, ann.login_of_ann), status=404)
    ann.me(ann.personal)


def test_a_logout_does_not_end_the_tokens(ann):
    ann.logout(ann.login_of_ann)
    ann.me(ann.personal)


@pytest.mark.control("T19")
@pytest.mark.parametrize("ticked", [True, False])
def test_the_page_shows_them_with_a_ticked_box(ann, ticked):
    sign_in(ann)
    form = form_of(ann, session_of(ann, ann.login_of_ann))
    box = "Also revoke the personal access token that was created there: backup"
    assert box in form.response.text
    assert form["revoke_tokens"].checked
    form["revoke_tokens"].checked = ticked
    assert form.submit().status_int == 303
    ann.me(ann.login_of_ann, status=401)
    ann.me(ann.personal, status=401 if ticked else 200)


def test_a_page_from_before_the_token_was_created_ends_it(ann):
    sign_in(ann)
    session = session_of(ann, ann.login_of_ann)
    submit(ann, f"/account/sessions/{session}/end", page="/account/security")
    ann.me(ann.personal, status=401)


def test_a_token_of_the_page_belongs_to_the_session_of_the_browser(ann):
    sign_in(ann)
    form = {"name": "page", "expires_in": "30d", "current_password": PASSWORD}
    token = submit(ann, "/account/tokens", page="/account/access", **form).html.find("code").text
    [browser] = [item for item in sessions(ann, ann.login_of_ann) if item["kind"] == "browser"]
    assert [item["name"] for item in browser["tokens"]] == ["page"]
    with ann.db() as db:
        row = db.scalars(select(PersonalToken).where(PersonalToken.name == "page")).one()
        assert (row.client_id, row.client_epoch) == (None, None)
    end(ann, ann.login_of_ann, browser["id"])
    ann.me(token, status=401)
    ann.me(ann.personal)


def test_none_is_created_in_a_session_that_ended_after_the_password_was_checked(ann):
    owner = ann.login(ann.keys)["access_token"]
    session = session_of(ann, ann.login_of_ann)
    other = Site(ann.url, **WEB)
    read = "SELECT users.password_hash"
    with stepping_between(
        ann.database.prepared, "after", read, lambda: end(other, owner, session)
    ) as done:
        create(ann, ann.login_of_ann, status=401)
    other.database.dispose()
    assert done
    assert listed(ann, owner) == []


@pytest.fixture
def wiki(site_with):
    """A site with Ann; a login of hers, that of an application, and a token it has created."""
    site = site_with(**OPENID)
    site.user(confirmed=True)
    owner = site.login(site.client())["access_token"]
    app = application(site, first_party=True, scope="account")
    scope = "openid account offline_access"
    login = redeemed(site, app, code_for(site, app, scope=scope))["access_token"]
    return site, owner, login, created(site, login)


@pytest.mark.parametrize("ends", [True, False])
def test_a_token_of_an_application_belongs_to_the_session_of_the_application(wiki, ends):
    """Not to the browser session in which the application got its code."""
    site, owner, login, token = wiki
    [shown] = [item for item in sessions(site, owner) if item["tokens"]]
    assert (shown["kind"], shown["client"]) == ("app", "Wiki")
    submit(site, "/logout", page=f"{BASE}/account")
    site.me(token)
    end(site, owner, shown["id"], revoke_tokens=ends)
    site.me(login, status=401)
    site.me(token, status=401 if ends else 200)


@pytest.mark.parametrize("ends", [True, False])
def test_who_ends_another_sign_in_ends_the_tokens_of_its_applications(wiki, ends):
    site, owner, login, token = wiki
    [browser] = [item for item in sessions(site, owner) if item["kind"] == "browser"]
    end(site, owner, browser["id"], revoke_tokens=ends)
    site.me(login, status=401)
    site.me(token, status=401 if ends else 200)
