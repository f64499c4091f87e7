"""``authsite secret rotate`` and ``retire``: the environment file, and what an old secret opens."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from authsite import clock
from authsite.account.export import export
from authsite.audit.models import AuditEvent
from authsite.login.service import limit_subject
from authsite.passwords.scheme import hash_prefix
from authsite.rate_limit import device_cookie
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.home import Home
from tests.support.site import PASSWORD, Site


@pytest.fixture
def home(tmp_path):
    """A folder after ``init``."""
    made = Home(tmp_path)
    made.run("init")
    return made


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


def test_the_rest_of_the_file_and_its_mode_stay(home):
    secret = home.variables()["AUTHSITE_SECRET"]
    lines = ["# ours: keep", f"export AUTHSITE_SECRET='{secret}'  # old", "", "AUTHSITE_VARIANT=B"]
    home.env_file.write_text("\n".join(lines))  # no line end after the last one
    home.env_file.chmod(0o644)
    assert home.json("secret", "rotate", "--at-once") == {
        "step": "rotated",
        "env_file": str(home.env_file),
    }
    after = home.env_file.read_text().splitlines()
    assert [after[0], *after[2:4]] == [lines[0], *lines[2:]]
    assert after[1].startswith('export AUTHSITE_SECRET="')
    assert after[1].endswith(f' {secret}"')
    assert after[4].startswith("AUTHSITE_LIMITS_KEY=")
    assert stat.S_IMODE(home.env_file.stat().st_mode) == 0o600
    assert [each.name for each in home.env_file.parent.iterdir() if each.name[0] == "."] == []


def test_a_link_to_the_file_stays_a_link(home, tmp_path):
    real = tmp_path / "real.env"
    home.env_file.rename(real)
    home.env_file.symlink_to(real)
    rotate(home)
    assert home.env_file.is_symlink()
    assert "AUTHSITE_SECRET_NEXT" in real.read_text()


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_a_group_that_could_read_it_still_can(home, mode):
    home.env_file.chmod(mode)
    rotate(home)
    assert stat.S_IMODE(home.env_file.stat().st_mode) == mode


def test_a_line_with_an_unusual_separator_stays_one_line(home):
    with home.env_file.open("a") as file:
        file.write("# ours\u2028keep\n")
    rotate(home)
    rotate(home, "--finish")
    assert "# ours\u2028keep" in home.env_file.read_text().split("\n")


def test_a_file_that_cannot_be_written_as_a_whole_stays_as_it_was(home):
    """A disk that is nearly full takes a part: the client's secret was lost."""
    home.env_file.write_text(home.env_file.read_text() + "# " + "x" * 5000 + "\n")
    before = home.env_file.read_text()
    code = (
        "import resource, signal, sys; from pathlib import Path;"
        "from authsite.cli.envwriter import editing;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "edit = editing(Path(sys.argv[1])); write = edit.__enter__(); write({'A': 'b'})"
    )
    done = subprocess.run([sys.executable, "-c", code, home.env_file], capture_output=True)
    assert b"cannot be written" in done.stderr
    assert home.env_file.read_text() == before


@pytest.mark.control("K03")
def test_after_a_leak_no_value_that_was_in_the_file_is_accepted(home):
    """An announced or former one became or stayed valid: who has the file has them, too."""
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


def test_of_concurrent_commands_none_loses_a_secret(home):
    old = home.variables()["AUTHSITE_SECRET"]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: rotate(home, "--at-once"), range(4)))
    made = home.variables()["AUTHSITE_SECRET"].strip('"').split()
    assert made[-1] == old
    assert len(set(made)) == 5


@pytest.mark.parametrize("variables", [{"AUTHSITE_SECRET": "x"}, {"AUTHSITE_SECRET_NEXT": "x"}])
def test_a_secret_that_is_set_elsewhere_is_not_rotated_in_the_file(home, variables):
    given = dict.fromkeys(variables, "zR7kYt3BqUx2HsWc9NvJfLg5PaEo3Kb6TiXy8SrQw")
    before = home.env_file.read_text()
    message = rotate(home, status=1, **given).stderr
    assert next(iter(given)) in message
    assert "docs/operations.md" in message
    assert home.env_file.read_text() == before


def test_without_an_environment_file_none_is_made(home):
    secret = home.variables()["AUTHSITE_SECRET"]
    home.env_file.unlink()
    assert "Move it to" in rotate(home, status=1, AUTHSITE_SECRET=secret).stderr
    assert not home.env_file.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_the_file_still_belongs_to_its_owner_when_root_rotates(home):
    os.chown(home.env_file, 12345, 12346)
    rotate(home)
    assert (home.env_file.stat().st_uid, home.env_file.stat().st_gid) == (12345, 12346)


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
            found = export(acting(db, site.app.registry["authsite"]), db.get(User, user.id))
        counts.append([row["count"] for row in found["rate_limits"]])
    assert counts == [[1], [2], [3], [4]]


def test_a_secret_is_not_retired_before_what_it_signed_has_expired(home, site_now):
    site = site_now(expires_in="1h", refresh_expires_in="30d")
    site.user()
    site.login(site.client())
    rotate(home)
    rotate(home, "--finish")
    message = retire(home, status=1).stderr
    assert "1 sign-ins, the last until" in message
    assert "links in mails" in message
    assert "cookies that recognize a browser" in message
    assert "--force" in message
    with site.db() as db:  # as if the rotation had been 32 days ago
        for event in db.query(AuditEvent).filter_by(event="secret.rotated"):
            event.at -= device_cookie.LIFETIME + timedelta(hours=2)
    assert retire(home).returncode == 0  # the login came after it
    assert {"secret.announced", "secret.rotated", "secret.retired"} <= set(site.events())


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
    login = site.http.get("/login").form
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
        assert device_cookie.decode(ring, limit_subject(user.id), device, clock.now())
    body = {"email": "ann@example.com", "token": reset, "password": "a new lamp in the garden"}
    site.http.post_json("/v1/password/reset", body, status=200)
