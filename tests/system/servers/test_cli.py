"""The command line: init, purge, and what every command has in common."""

import subprocess
import sys
import uuid
from datetime import timedelta

import pytest

from authsite.oauth.models import Family
from authsite.platform.db import migrate
from authsite.platform.runtime import clock
from authsite.platform.settings.secret import strong_secret
from tests.support.home import Home, initialized
from tests.support.site import ClientKeys, Site

pytestmark = pytest.mark.slow


@pytest.fixture
def bare(tmp_path):
    """A folder in which nothing was done yet."""
    return Home(tmp_path)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder after ``init``."""
    return initialized(tmp_path_factory.mktemp("home"))


@pytest.fixture
def site(home):
    """An application on the database of ``home``."""
    made = Site(home.url)
    yield made
    made.database.dispose()


def keys_of(shown):
    return ClientKeys(shown["client_id"], shown["client_secret"])


def test_every_command_is_described_by_a_whole_sentence(home):
    for group in ([], ["client"], ["user"], ["mail"], ["db"]):
        listed = home.run(*group, "--help", COLUMNS="80").stdout.partition("Commands:")[2]
        assert listed
        assert "..." not in listed


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["client", "disable", "nope"], 1, "client list"),
        (["client", "rotate-secret", str(uuid.UUID(int=1))], 1, "client list"),
        (["user", "disable", "nobody@example.com"], 1, "user list"),
        (["user", "sign-out", str(uuid.UUID(int=1))], 1, "user list"),
        (["client", "list", "--config", "nope.ini"], 1, "nope.ini"),
        (["serve", "--config", "nope.ini"], 1, "nope.ini"),
        (["client", "create", "--name", "x"], 2, "--type"),
        (["client", "create", "--name", "x", "--type", "y"], 2, "personal"),
        (["client", "create", "--type", "personal"], 2, "--name"),
        (["client", "disable"], 2, "ID"),
        (["user", "create"], 2, "--email"),
        (["user", "create", "--email", "bo@example.com"], 2, "--password-stdin"),
        (["serve", "--port", "99999"], 2, "--port"),
        (["nonsense"], 2, "nonsense"),
        (["client", "nonsense"], 2, "nonsense"),
        (["init", "--nonsense"], 2, "--nonsense"),
        (["user", "delete", "nobody@example.com", "--yes"], 1, "user list"),
        (["user", "update", "nobody@example.com"], 2, "--name"),
        (["user", "update", "x@example.com", "--phone", "1"], 1, "login-identifiers"),
        (["mail", "send", "--loop", "--json"], 2, "--loop"),
        (["mail", "retry"], 2, "mail list"),
    ],
)
def test_what_could_not_be_done_is_1_and_wrong_usage_is_2(home, arguments, status, words):
    done = home.run(*arguments, stdin="", status=status)
    assert words in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_commands_say_nothing_but_their_answer(home):
    command = [sys.executable, "-m", "authsite", "secret", "new"]  # with all that it loads
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=home.folder)
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "")
    assert strong_secret(done.stdout.strip())
    assert home.run("secret", "new").stdout != done.stdout
    assert home.run("client", "list").stderr == ""
    assert "\x1b" not in home.run("client", "list").stdout  # colours are for terminals


def test_help_and_version_need_no_settings(bare):
    bare.ini.unlink()
    for arguments in (["--help"], ["--version"], ["client", "--help"], ["serve", "--help"]):
        assert bare.run(*arguments).stdout
    overview = bare.run("--help").stdout
    for command in ("init", "serve", "client", "user", "db", "purge", "doctor", "secret"):
        assert f"  {command} " in overview


def test_the_ini_is_the_one_named_by_option_then_by_variable(home, bare):
    other = bare.folder / "other.ini"
    other.write_text("[app:main]\nauthsite.nonsense = 1\n")
    done = home.run("client", "list", status=1, AUTHSITE_CONFIG=str(other))
    assert "authsite.nonsense" in done.stderr
    home.run("client", "list", "--config", str(home.ini), AUTHSITE_CONFIG=str(other))


def test_a_command_on_a_database_without_a_schema_says_what_to_run(bare):
    done = bare.run("client", "list", status=1, AUTHSITE_SECRET="vB7wQz2LmXk9RtYc4HsNd6JfGp1UaE0T")
    assert "authsite init" in done.stderr
    assert "Traceback" not in done.stderr


def test_db_upgrade_makes_the_schema_and_may_be_repeated(bare):
    secret = {"AUTHSITE_SECRET": "vB7wQz2LmXk9RtYc4HsNd6JfGp1UaE0T"}
    *steps, last = bare.run("db", "upgrade", **secret).stdout.splitlines()
    assert [step[:5] for step in steps] == [f"{migrate.head()} "]  # a new database: at once
    assert bare.run("db", "upgrade", **secret).stdout.splitlines() == [last]
    bare.run("client", "list", **secret)


@pytest.mark.control("D06")
def test_purge_deletes_what_can_never_be_used_again_and_nothing_else(home, site):
    keys = keys_of(home.json("client", "create", "--name", "P", "--type", "personal"))
    issued = [site.token(keys, grant_type="client_credentials").json for _ in range(5)]
    now = clock.now()
    with site.db() as db:
        ids = [row.id for row in db.query(Family).order_by(Family.created_at)][-5:]
        for id, changes in zip(
            ids,
            [
                {"refresh_expires_at": now - timedelta(days=1)},
                {"revoked_at": now - timedelta(days=8), "revoked_why": "logout"},
                {"revoked_at": now - timedelta(days=1), "revoked_why": "logout"},
                {"refresh_expires_at": now + timedelta(days=1)},
                {},
            ],
            strict=True,
        ):
            if changes:
                db.query(Family).filter(Family.id == id).update(changes)
    assert home.json("purge")["families"] == 2
    assert home.json("purge")["families"] == 0
    with site.db() as db:
        assert {row.id for row in db.query(Family)} >= set(ids[2:])
        assert not {row.id for row in db.query(Family)} & set(ids[:2])
    for tokens in issued[:3]:
        site.refresh(keys, tokens["refresh_token"], status=400)
        site.me(tokens["access_token"], status=401)
    site.refresh(keys, issued[4]["refresh_token"])
    assert "Deleted 0 rows" in home.run("purge").stdout


def test_commands_without_a_list_print_one_object_too(home, bare):
    assert strong_secret(home.json("secret", "new")["secret"])
    revision = home.json("db", "upgrade")["revision"]
    assert bare.json("init") == {"revision": revision, "env_file": str(bare.env_file)}
    assert home.json("mail", "retry", "--all") == {"retried": 0}
    assert home.json("mail", "send") == {"sent": 0, "waiting": 0, "dead": 0, "expired": 0}
