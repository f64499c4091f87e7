"""``authsite secret rotate`` and ``retire``: the steps, and what an old secret still opens."""

from datetime import timedelta

import pytest

from authsite.account.service import export_as_administrator
from authsite.platform.audit.models import AuditEvent
from authsite.platform.passwords.hashing import hash_prefix
from authsite.platform.rate_limit import limit_subject
from authsite.platform.rate_limit.recognized import RECOGNIZED_FOR, Owner, decode_cookie
from authsite.platform.runtime import clock
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.home import initialized
from tests.support.site import PASSWORD, Site


@pytest.fixture
def home(tmp_path):
    """A folder after ``init``."""
    return initialized(tmp_path)


@pytest.fixture
def site_now(home):
    """A factory: an application with the environment file as it is now."""
    made = []

    def started(**settings):
        read = home.variables()
        keys = ("secret", "secret_next", "password_pepper", "password_pepper_next", "limits_key")
        found = {key: read.get(f"AUTHSITE_{key.upper()}", "").strip('"') for key in keys}
        given = {key: value for key, value in found.items() if value}
        made.append(Site(home.url, **given, **settings))
        return made[-1]

    yield started
    for each in made:
        each.database.dispose()


def rotate(home, *options, **more):
    return home.run("secret", "rotate", *options, **more)


def retire(home, *options, **more):
    return home.run("secret", "retire", *options, **more)


@pytest.mark.control("K03")
def test_each_step_says_what_comes_next_and_shows_no_secret(home):
    old = home.variables()["AUTHSITE_SECRET"]
    first = rotate(home, "--config", "development.ini").stdout
    announced = home.variables()["AUTHSITE_SECRET_NEXT"]
    assert home.variables()["AUTHSITE_SECRET"] == old
    assert "authsite secret rotate --finish --config development.ini" in first
    assert "--finish" in rotate(home, status=1).stderr  # not before every process knows it
    second = rotate(home, "--finish").stdout
    assert "run `authsite secret rotate` first" in rotate(home, "--finish", status=1).stderr
    assert home.variables()["AUTHSITE_SECRET"] == f'"{announced} {old}"'
    assert "AUTHSITE_SECRET_NEXT" not in home.variables()
    assert "authsite secret retire" in second
    third = retire(home, "--force").stdout
    assert home.variables()["AUTHSITE_SECRET"] == announced
    for text in (first, second, third):
        assert "systemctl reload authsite" in text
        assert str(home.env_file) in text
        assert old not in text
        assert announced not in text
    assert "authsite secret rotate` first" in retire(home, status=1).stderr


@pytest.mark.control("K03")
def test_after_a_leak_no_value_that_was_in_the_file_is_accepted(home):
    """An announced or former one became or stayed valid: a person with the file has them, too."""
    rotate(home, "--at-once")  # weeks before
    rotate(home)  # and one is announced, when the file leaks
    variables = home.variables()
    leaked = {*variables["AUTHSITE_SECRET"].strip('"').split(), variables["AUTHSITE_SECRET_NEXT"]}
    assert len(leaked) == 3
    rotate(home, "--at-once")
    retire(home, "--force")
    variables = home.variables()
    assert variables["AUTHSITE_SECRET"] not in leaked
    assert " " not in variables["AUTHSITE_SECRET"]
    assert "AUTHSITE_SECRET_NEXT" not in variables


@pytest.mark.control("K03")
def test_every_process_knows_a_secret_before_another_one_signs_with_it(home, site_now):
    before = site_now()
    before.user(confirmed=True)
    keys = before.client()
    tokens = before.login(keys)
    rotate(home)
    announced = site_now()
    announced_tokens = announced.refresh(keys, tokens["refresh_token"])
    before.me(announced_tokens["access_token"])  # a process that is not reloaded yet
    rotate(home, "--finish")
    rotated = site_now()
    rotated_tokens = rotated.refresh(keys, announced_tokens["refresh_token"])
    announced.me(rotated_tokens["access_token"])
    rotated.me(announced_tokens["access_token"])
    before.me(rotated_tokens["access_token"], status=401)
    retire(home, "--force")
    last = site_now()
    last.me(rotated_tokens["access_token"])
    last.me(announced_tokens["access_token"], status=401)


def test_no_step_resets_what_a_limit_has_counted(home, site_now):
    keys, user = site_now().client(), site_now().user()
    steps = [
        lambda: rotate(home),
        lambda: rotate(home, "--finish"),
        lambda: retire(home, "--force"),
    ]
    counts = []
    for step in [lambda: None, *steps]:
        step()
        site = site_now(limits="on")
        assert site.try_login(keys).status_int == 400
        with site.db() as db:
            context = acting(db, site.app.registry["authsite"])
            found = export_as_administrator(context, db.get(User, user.id))
        counts.append([row["count"] for row in found["rate_limits"]])
    assert counts == [[1], [2], [3], [4]]


def test_a_secret_is_not_retired_before_what_it_signed_has_expired(home, site_now):
    site = site_now(expires_in="1h", refresh_expires_in="30d")
    site.user()
    site.login(site.client())
    rotate(home)
    rotate(home, "--finish")
    message = retire(home, status=1).stderr
    assert "1 sessions of apps, the last until" in message
    assert "links in mails" in message
    assert "cookies that recognize a browser" in message
    assert "--force" in message
    with site.db() as db:  # as if the rotation had been 32 days ago
        for event in db.query(AuditEvent).filter_by(event="secret.rotated"):
            event.at -= RECOGNIZED_FOR + timedelta(hours=2)
    assert retire(home).returncode == 0  # the login came after it
    assert {"secret.announced", "secret.rotated", "secret.retired"} <= set(site.events())


def test_a_rotation_that_the_trail_has_no_more_is_no_reason_to_wait_for_ever(home, site_now):
    site = site_now()
    rotate(home)
    rotate(home, "--finish")
    with site.db() as db:  # as a purge does after audit-keep
        db.query(AuditEvent).delete()
    message = retire(home, status=1).stderr
    assert "the audit trail does not say when" in message
    assert "until" not in message
    assert retire(home, "--force").returncode == 0


@pytest.mark.control("K03")
def test_a_pepper_is_replaced_at_the_next_login_and_nobody_is_locked_out(home, site_now):
    before = site_now()
    before.user()
    keys = before.client()
    for _ in range(2):  # the first pepper, and another one
        before = site_now()
        before.login(keys)
        rotate(home, "--pepper")
        announced = site_now()
        announced.login(keys)
        rotate(home, "--pepper", "--finish")
        rotated = site_now()
        rotated.login(keys)  # upgrades the hash
        announced.login(keys)  # a process that is not reloaded yet
        rotated.login(keys)
    newest, older = home.variables()["AUTHSITE_PASSWORD_PEPPER"].strip('"').split()
    with rotated.db() as db:
        assert db.query(User).one().password_hash.startswith(hash_prefix(newest))
        db.query(User).one().password_hash = hashed_with(rotated, older)
    assert "1 users have not logged in" in retire(home, "--pepper", status=1).stderr
    rotated.login(keys)
    assert "processes that are not reloaded" in retire(home, "--pepper", status=1).stderr
    with rotated.db() as db:  # as if the rotation had been two hours ago
        for event in db.query(AuditEvent).filter_by(event="secret.rotated"):
            event.at -= timedelta(hours=2)
    retire(home, "--pepper")
    site_now().login(keys)


def hashed_with(site, pepper):
    """A hash of the user's password with ``pepper``."""
    made = Site(site.url, password_pepper=pepper)
    try:
        return made.app.registry["authsite"].passwords.hash(PASSWORD)
    finally:
        made.database.dispose()


def test_links_sessions_forms_and_known_browsers_outlive_a_rotation(home, site_now):
    site = site_now(limits="on")
    user = site.user()
    reset = site.reset_token(user)
    login = site.http.get("/login").forms[0]
    login["username"], login["password"] = "ann@example.com", PASSWORD
    login.submit()
    forms = site.http.get("/account").forms.values()
    [profile] = [form for form in forms if form.action.endswith("/account/profile")]
    cookies = dict(site.http.cookies)
    for options in ([], ["--finish"]):
        rotate(home, *options)
        site = site_now(limits="on")
        for name, value in cookies.items():
            site.http.set_cookie(name, value)
        site.http.get("/account", status=200)
        site.http.post("/account/profile", profile.submit_fields(), status=(200, 303))
        ring = site.app.registry["authsite"].keys["device"]
        device = cookies["device"]
        assert decode_cookie(ring, Owner(limit_subject(user.id)), device, clock.now())
    body = {"email": "ann@example.com", "token": reset, "password": "a new lamp in the garden"}
    site.http.post_json("/v1/password/reset", body, status=200)
