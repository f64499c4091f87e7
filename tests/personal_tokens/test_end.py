"""What ends a personal access token, and what does not."""

from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import select, update

from authsite.oauth.models import PersonalToken
from authsite.users import service as users
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.pages import sign_in, submit
from tests.support.personal import (
    create,
    errors,
    listed,
    personal_id,
    revoke,
    with_ann,
)
from tests.support.purging import purged
from tests.support.site import PASSWORD, WEB, Site, bearer
from tests.support.statements import stepping_between

pytestmark = pytest.mark.both_databases

HOUR = 3600
NEW = "purple wolf 77 tea"


@pytest.fixture
def ann(site_with):
    """A site with Ann, her login and her personal access token."""
    return with_ann(site_with(**WEB))


def ends(site, action):
    """Whether ``action`` ends the token, here and on another process."""
    other = Site(site.url, **WEB)
    site.me(site.personal)
    other.me(site.personal)
    action()
    site.me(site.personal, status=401)
    answer = other.me(site.personal, status=401)
    other.database.dispose()
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]


def put_password(site):
    body = {"current_password": PASSWORD, "password": NEW}
    site.http.put_json("/v1/user/password", body, headers=bearer(site.login_of_ann))


def reset(site):
    body = {"email": "ann@example.com", "token": site.reset_token(site.ann), "password": NEW}
    site.http.post_json("/v1/password/reset", body)


def end_others(site):
    sign_in(site)
    submit(site, "/account/sessions/end-others", page="/account")


def administrator(verb):
    def act(site):
        with site.db() as db:
            getattr(users, verb)(acting(db), users.find(db, "ann@example.com"))

    return act


@pytest.mark.control("T19", "T27")
@pytest.mark.parametrize(
    "action",
    [put_password, reset, end_others, administrator("sign_out"), administrator("disable")],
)
def test_t19_the_token_dies_with_the_epoch_of_its_user(ann, action):
    ends(ann, lambda: action(ann))


def test_a_disabled_and_enabled_user_s_tokens_stay_dead(ann):
    administrator("disable")(ann)
    administrator("enable")(ann)
    ann.me(ann.personal, status=401)


def test_the_token_goes_with_the_account(ann):
    delete = {"current_password": PASSWORD}
    headers = bearer(ann.login_of_ann)
    ends(ann, lambda: ann.http.delete_json("/v1/user", delete, headers=headers))


def test_revoking_by_id_works_at_once_on_every_process(ann):
    [one] = listed(ann, ann.login_of_ann)
    ends(ann, lambda: revoke(ann, ann.login_of_ann, one["id"]))
    assert listed(ann, ann.login_of_ann) == []
    assert errors(revoke(ann, ann.login_of_ann, one["id"], status=404)) == [("not_found", None)]
    assert ann.events().count("token.revoked") == 1


def test_logging_out_with_the_token_revokes_it_and_nothing_else(ann):
    ends(ann, lambda: ann.logout(ann.personal))
    ann.me(ann.login_of_ann)
    assert listed(ann, ann.login_of_ann) == []


def test_logging_out_with_the_token_leaves_the_cookies_of_the_browser(ann):
    answer = ann.logout(ann.personal)
    assert "Set-Cookie" not in answer.headers
    assert "refreshToken=" in ann.logout(ann.login_of_ann).headers["Set-Cookie"]


def test_logging_out_with_the_login_leaves_the_token(ann):
    ann.logout(ann.login_of_ann)
    ann.me(ann.personal)


def test_the_token_of_another_user_is_neither_seen_nor_revoked(ann):
    ann.user("eve@example.com")
    eve = ann.login(ann.keys, "eve@example.com")["access_token"]
    assert listed(ann, eve) == []
    revoke(ann, eve, personal_id(ann), status=404)
    ann.me(ann.personal)


@pytest.mark.parametrize("id_", ["x", "..", "0" * 36, str(UUID(int=5)), "%00", "a" * 5000])
def test_an_id_that_is_none_is_not_found(ann, id_):
    revoke(ann, ann.login_of_ann, id_, status=404)


def test_a_session_s_id_is_no_token_s_id_nor_the_other_way_round(ann):
    sign_in(ann)
    headers = bearer(ann.login_of_ann)
    sessions = ann.http.get("/v1/user/sessions", headers=headers).json["sessions"]
    assert sorted(item["kind"] for item in sessions) == ["app", "browser"]
    for item in sessions:
        revoke(ann, ann.login_of_ann, item["id"], status=404)
    wanted = personal_id(ann)
    ann.http.delete(f"/v1/user/sessions/{wanted}", headers=headers, status=404)
    submit(ann, f"/account/sessions/{wanted}/end", page="/account")
    ann.me(ann.personal)
    ann.me(ann.login_of_ann)


def test_expired_and_revoked_tokens_are_purged(site_with, frozen):
    site = with_ann(site_with(expires_in="60m", refresh_expires_in="400d", **WEB))
    create(site, site.login_of_ann, expires_in="1h")
    create(site, site.login_of_ann, expires_in="365d")
    frozen.advance(HOUR)
    site.login_of_ann = site.login(site.keys)["access_token"]
    left = listed(site, site.login_of_ann)
    assert sorted(item["scope"] for item in left) == ["", "a"]
    revoke(site, site.login_of_ann, next(item["id"] for item in left if not item["scope"]))
    assert purged(site)["personal_tokens"] == 1
    frozen.advance(timedelta(days=7).total_seconds())
    assert purged(site)["personal_tokens"] == 1
    site.me(site.personal)


def test_no_token_is_created_in_a_sign_in_that_ends_after_the_password_was_checked(ann):
    def raise_epoch():
        with ann.db() as db:
            db.execute(update(User).values(epoch=User.epoch + 1))

    select_hash = "SELECT users.password_hash"
    with stepping_between(ann.database.prepared, "after", select_hash, raise_epoch) as done:
        answer = create(ann, ann.login_of_ann, status=401)
    assert done
    assert answer.json["errors"] == []
    with ann.db() as db:
        assert len(db.scalars(select(PersonalToken)).all()) == 1
