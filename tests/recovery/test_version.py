"""Which links outlive what: reset links, and links that confirm the present address."""

import pytest

from authsite.users import service as users
from authsite.users.models import User
from tests.account.test_email_change import paths_to
from tests.support.acting import acting
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, Site, bearer

OTHER = "purple wolf 77 tea"


def end_others(site):
    assert submit(site, "/account/sessions/end-others", page="/account").status_int == 303


def end_one(site):
    headers = bearer(site.token_of_ann)
    found = site.http.get("/v1/user/sessions", headers=headers).json["sessions"]
    site.http.delete(f"/v1/user/sessions/{found[-1]['id']}", headers=headers, status=204)


def log_out(site):
    site.logout(site.token_of_ann)


def administered(act):
    def acting(site):
        with site.db() as db:
            act(db, users.find(db, "ann@example.com"))

    return acting


def change_password(site):
    body = {"current_password": PASSWORD, "password": OTHER}
    site.http.put_json("/v1/user/password", body, headers=bearer(site.token_of_ann))


ENDING_SIGN_INS = {
    "end others": end_others,
    "end one": end_one,
    "logout": log_out,
    "sign-out": administered(lambda db, ann: users.sign_out(acting(db), ann)),
}
ENDING_RESET_LINKS = {
    "password change": change_password,
    "set-password": administered(lambda db, ann: users.set_password(acting(db), ann.id, "x")),
    "disable and enable": administered(
        lambda db, ann: (
            users.disable(acting(db), ann),
            users.enable(acting(db), ann),
        )
    ),
}


@pytest.fixture
def ann(site):
    site.ann = site.user()
    site.token_of_ann = site.login(site.client())["access_token"]
    sign_in(site)
    return site


def reset(site, token, status):
    body = {"email": "ann@example.com", "token": token, "password": "green otter 31 rye"}
    site.http.post_json("/v1/password/reset", body, status=status)


@pytest.mark.parametrize("end", ENDING_SIGN_INS)
def test_ending_sign_ins_leaves_a_mailed_reset_link(ann, end):
    """H3: an intruder with a session cannot keep the owner from resetting."""
    token = ann.reset_token(ann.ann)
    ENDING_SIGN_INS[end](ann)
    reset(ann, token, 200)


@pytest.mark.parametrize("end", ENDING_RESET_LINKS)
def test_setting_a_password_and_disabling_end_a_mailed_reset_link(ann, end):
    token = ann.reset_token(ann.ann)
    ENDING_RESET_LINKS[end](ann)
    reset(ann, token, 422)


def test_a_login_that_upgrades_the_hash_leaves_a_mailed_reset_link(ann):
    """H3: a stronger hash of the same password is not a new password."""
    token = ann.reset_token(ann.ann)
    with ann.db() as db:
        before = db.query(User).one().password_hash
    stronger = Site(ann.url, bcrypt_cost="11")
    stronger.login(ann.client())
    with ann.db() as db:
        assert db.query(User).one().password_hash != before
    stronger.database.dispose()
    reset(ann, token, 200)


@pytest.mark.parametrize("end", ENDING_SIGN_INS | ENDING_RESET_LINKS)
def test_a_link_that_confirms_the_present_address_outlives_everything(ann, end):
    page = {"verification_url": "http://localhost/email/verify"}
    headers = bearer(ann.token_of_ann)
    ann.http.post_json("/v1/email/verification-notification", page, headers=headers)
    [path] = paths_to(ann, "ann@example.com")
    (ENDING_SIGN_INS | ENDING_RESET_LINKS)[end](ann)
    ann.http.get(path, status=200)
    with ann.db() as db:
        assert db.query(User).one().email_verified_at is not None
