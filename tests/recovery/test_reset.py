"""Spending a reset token: what spends it, what kills it, and what a reset does."""

from datetime import timedelta
from types import SimpleNamespace

import pytest

from authsite.platform.crypto.keys import KeyRing
from authsite.platform.runtime import clock
from authsite.recovery import service as tokens
from authsite.users import service as users
from authsite.users.models import User
from authsite.verification.links import PURPOSE, sign
from tests.support.acting import acting
from tests.support.mails import text_of
from tests.support.pages import sign_in
from tests.support.site import PASSWORD, SECRET, bearer

pytestmark = pytest.mark.both_databases

RESET = "/v1/password/reset"
NEW = "a purple wolf at tea 77"
HOUR = timedelta(hours=1)


@pytest.fixture
def user(site):
    return site.user()


def token_for(site, user, *, lifetime=HOUR, address=None, purpose=tokens.PURPOSE, secret=SECRET):
    """A reset token for the state that the user is in now."""
    with site.db() as db:
        version = db.get(User, user.id).recovery_version
    state = SimpleNamespace(id=user.id, recovery_version=version, email=address or user.email)
    return tokens.make(KeyRing([secret], purpose), state, clock.now() + lifetime)


def reset(site, token, status=200, *, email="ann@example.com", password=NEW, **more):
    body = {"email": email, "token": token, "password": password, **more}
    return site.http.post_json(RESET, body, status=status)


def refused(site, token, **more):
    """Refused, and with a body that is the same whatever the reason."""
    answer = reset(site, token, 422, **more)
    assert [(each["code"], each["field"]) for each in answer.json["errors"]] == [
        ("invalid_token", "token")
    ]
    return answer.body


@pytest.mark.control("F10")
def test_a_token_works_once(site, user):
    token = token_for(site, user)
    reset(site, token)
    refused(site, token, password="another wolf at noon 78")
    site.login(site.client(), password=NEW)


@pytest.mark.control("F10")
def test_no_character_of_a_token_can_be_another(site, user):
    token = token_for(site, user)
    for at, char in enumerate(token):
        refused(site, token[:at] + ("A" if char != "A" else "B") + token[at + 1 :])
    for other in (token[:-1], token + "A", token + "=", token + "\n", f" {token}", token.swapcase(),
                  token[:-4], token.replace(token[5], "+", 1), token * 2):  # fmt: skip
        refused(site, other)
    reset(site, token)


@pytest.mark.control("F12")
def test_a_wrong_token_a_wrong_address_and_an_expired_token_are_one_answer(site, user):
    other = site.user("bo@example.com")
    token = token_for(site, user)
    off = site.user("off@example.com")
    of_disabled = token_for(site, off)
    with site.db() as db:
        users.disable(acting(db), users.find(db, "off@example.com"))
    bodies = {
        refused(site, token[:-8] + "AAAAAAAA"),
        refused(site, "wrong"),
        refused(site, token, email="bo@example.com"),
        refused(site, token, email="nobody@example.com"),
        refused(site, token, email="no address"),
        refused(site, token_for(site, user, lifetime=timedelta(seconds=-1))),
        refused(site, token_for(site, other)),
        refused(site, of_disabled, email="off@example.com"),
    }
    assert len(bodies) == 1
    reset(site, token)  # none of these used it up


@pytest.mark.control("F12")
def test_the_address_may_be_spelled_as_the_owner_is_used_to(site, user):
    reset(site, token_for(site, user), email="Ann@Example.COM")


@pytest.mark.control("F10")
def test_a_token_lives_for_an_hour(site, frozen):
    user = site.user()
    token = token_for(site, user)
    frozen.advance(3600)
    refused(site, token)
    frozen.advance(-1)
    reset(site, token)


@pytest.mark.parametrize("password", ["short", "password", "ann@example.com", "12345678"])
def test_a_rejected_password_does_not_use_up_the_token(site, user, password):
    token = token_for(site, user)
    answer = reset(site, token, 422, password=password)
    assert [(e["code"], e["field"]) for e in answer.json["errors"]] == [
        ("weak_password", "password")
    ]
    different = reset(site, token, 422, password_confirmation=f"{NEW}!")
    assert [(e["code"], e["field"]) for e in different.json["errors"]] == [
        ("invalid", "password_confirmation")
    ]
    site.login(site.client(), password=PASSWORD)
    reset(site, token, password_confirmation=NEW)


@pytest.mark.control("F14")
@pytest.mark.parametrize(
    "token", ["", " ", None, [], [""], ["x"], {}, 0, 1, True, False, "0", "null", "\0", "A" * 64,
              "A" * 513, "\ud800"],
)  # fmt: skip
def test_a_token_that_is_none_is_422(site, user, token):
    body = {"email": "ann@example.com", "token": token, "password": NEW}
    answer = site.http.post_json(RESET, body, status=422)
    assert [each["field"] for each in answer.json["errors"]] == ["token"]
    site.login(site.client(), password=PASSWORD)


@pytest.mark.control("F14")
@pytest.mark.parametrize(
    "form", ["", "&token=", "&token[]=x", "&token[]=", "&token=0", "&token=null", "&token=%00"]
)
def test_a_form_without_a_good_token_is_422(site, user, form):
    body = f"email=ann%40example.com&password=a+purple+wolf+77{form}"
    answer = site.http.post(RESET, body, status=422)
    assert [each["field"] for each in answer.json["errors"]] == ["token"]


@pytest.mark.control("F14")
def test_a_token_sent_twice_is_refused(site, user):
    token = token_for(site, user)
    body = f"email=ann%40example.com&password=a+purple+wolf+77&token={token}&token={token}"
    site.http.post(RESET, body, status=400)
    site.http.post_json(f"{RESET}?email=ann@example.com&token={token}", {}, status=422)
    reset(site, token)


@pytest.mark.control("F13")
def test_displaying_the_link_leaves_it_valid_and_extra_keys_do_nothing(site, user):
    token = token_for(site, user)
    for _ in range(2):
        site.http.get(f"/password/reset?email=ann%40example.com&token={token}", status=200)
    site.http.head(f"/password/reset?email=ann%40example.com&token={token}", status=200)
    site.http.get(f"{RESET}?email=ann%40example.com&token={token}", status=405)
    reset(site, token, user_id="x", epoch=9, confirmed=True, name="Eve", disabled_at=None)
    with site.db() as db:
        now = db.get(User, user.id)
        assert (now.name, now.email_verified_at, now.epoch) == (None, None, 1)


@pytest.mark.control("F13")
def test_a_reset_does_not_sign_in_and_confirms_nothing(site, user):
    answer = reset(site, token_for(site, user))
    assert set(answer.json) == {"message"}
    # Which recognizes the browser, and opens nothing.
    assert [each.partition("=")[0] for each in answer.headers.getall("Set-Cookie")] == ["device"]
    tokens_of_ann = site.login(site.client(), password=NEW)
    assert site.me(tokens_of_ann["access_token"]).json["confirmed"] is False


@pytest.mark.control("F13")
def test_a_disabled_user_stays_out_and_the_old_token_stays_dead_when_enabled(site, user):
    token = token_for(site, user)
    with site.db() as db:
        users.disable(acting(db), users.find(db, user.email))
    refused(site, token)
    refused(site, token_for(site, user))
    with site.db() as db:
        users.enable(acting(db), users.find(db, user.email))
    refused(site, token)
    site.login(site.client(), password=PASSWORD)


def change_password(site):
    access = site.login(site.client())["access_token"]
    body = {"current_password": PASSWORD, "password": "another wolf at noon 78"}
    site.http.put_json("/v1/user/password", body, headers=bearer(access), status=200)


def reset_otherwise(site):
    with site.db() as db:
        user = users.find(db, "ann@example.com")
    reset(site, token_for(site, user, lifetime=timedelta(minutes=30)))


def change_address(site):
    access = site.login(site.client())["access_token"]
    body = {"email": "anna@example.com", "current_password": PASSWORD}
    site.http.put_json("/v1/user/email", body, headers=bearer(access), status=202)
    with site.db() as db:
        user = users.find(db, "ann@example.com")
    ring = site.app.registry["authsite"].keys[PURPOSE]
    link = sign(ring, "", user.id, "anna@example.com", clock.now() + HOUR)
    site.http.get(link, headers=bearer(access), status=200)


def disable_and_enable(site):
    with site.db() as db:
        user = users.find(db, "ann@example.com")
        users.disable(acting(db), user)
        users.enable(acting(db), user)


@pytest.mark.both_databases
@pytest.mark.control("F11")
@pytest.mark.parametrize(
    "trigger", [change_password, reset_otherwise, change_address, disable_and_enable]
)
def test_outstanding_links_die_with_every_change_of_the_account(site, user, trigger):
    token = token_for(site, user)
    trigger(site)
    for email in ("ann@example.com", "anna@example.com"):
        refused(site, token, email=email, password="third wolf at dusk 79")


@pytest.mark.control("F10")
def test_another_request_for_any_address_ends_no_link(site, user):
    token = token_for(site, user)
    body = {"email": user.email, "reset_url": "http://localhost/password/reset"}
    for _ in range(3):
        site.http.post_json("/v1/password/forgot", body, status=202)
    site.mails()
    reset(site, token)


@pytest.mark.control("F16")
@pytest.mark.parametrize("purpose", ["verify e-mail", "access token", "refresh token", "csrf"])
def test_a_key_for_another_purpose_makes_no_reset_token(site, user, purpose):
    refused(site, token_for(site, user, purpose=purpose))


@pytest.mark.control("F16")
def test_no_other_credential_of_the_user_resets_the_password(site, user):
    issued = site.login(site.client())
    ring = site.app.registry["authsite"].keys[PURPOSE]
    link = sign(ring, "", user.id, user.email, clock.now() + HOUR)
    signature = link.rpartition("=")[2]
    for other in (issued["access_token"], issued["refresh_token"], link, signature):
        refused(site, other)
    token = token_for(site, user)
    site.me(token, status=401)
    site.http.get(f"{link.partition('signature=')[0]}signature={token}", status=403)


@pytest.mark.control("F15")
def test_a_reset_ends_everything_mails_a_notice_and_is_on_record(site, user):
    keys = site.client()
    both = [site.login(keys), site.login(keys)]
    sign_in(site)
    reset(site, token_for(site, user))
    for each in both:
        site.me(each["access_token"], status=401)
        site.refresh(keys, each["refresh_token"], status=400)
    site.http.get("/account", status=302)
    [notice] = site.mails()
    assert notice["To"] == "ann@example.com"
    assert "password" in notice["Subject"]
    assert NEW not in text_of(notice)
    assert site.events().count("recovery.done") == 1
