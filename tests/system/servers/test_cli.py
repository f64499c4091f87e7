"""The command line: init, clients, purge, and what every command has in common."""

import json
import re
import subprocess
import sys
import uuid
from datetime import timedelta

import pytest

from authsite import clock
from authsite.oauth.models import Family
from authsite.settings.secret import strong_secret
from tests.support.home import Home, initialized
from tests.support.site import ClientKeys, Site

pytestmark = pytest.mark.slow
KEYS = {"client_id", "client_secret", "name", "type"}


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


def test_a_clients_secret_is_shown_once_and_stored_nowhere(home):
    done = home.run("client", "create", "--name", "Shop", "--type", "personal")
    secret = next(line.split()[1] for line in done.stdout.splitlines() if "client_secret" in line)
    assert "this once" in done.stdout
    for path in home.folder.rglob("*"):
        assert path.is_dir() or secret.encode() not in path.read_bytes()
    for more in ([], ["--json"]):
        listing = home.run("client", "list", *more).stdout
        assert "Shop" in listing
        assert secret not in listing


@pytest.mark.parametrize("type_", ["password", "personal", "resource-server"])
def test_create_prints_one_object_for_scripts(home, type_):
    shown = home.json("client", "create", "--name", "S", "--type", type_)
    assert set(shown) == KEYS
    assert (shown["name"], shown["type"]) == ("S", type_)
    assert len(shown["client_secret"]) == 43  # 256 bits


@pytest.mark.control("T08")
def test_a_rotated_secret_works_beside_the_old_one_until_that_is_retired(home, site):
    first = home.json("client", "create", "--name", "R", "--type", "personal")
    second = home.json("client", "rotate-secret", first["client_id"])
    assert set(second) == KEYS
    assert {**second, "client_secret": ""} == {**first, "client_secret": ""}
    for shown in (first, second):
        site.token(keys_of(shown), grant_type="client_credentials")
    third = home.json("client", "rotate-secret", first["client_id"])
    site.token(keys_of(first), 401, grant_type="client_credentials")
    home.run("client", "retire-secret", first["client_id"])
    site.token(keys_of(second), 401, grant_type="client_credentials")
    site.token(keys_of(third), grant_type="client_credentials")


def test_a_client_is_shown_with_the_number_of_its_secrets(home):
    made = home.json("client", "create", "--name", "N", "--type", "personal")
    shown = home.run("client", "show", made["client_id"]).stdout
    assert re.search(r"secrets +1\n", shown)
    assert re.search(r"enabled +yes\n", shown)
    assert re.search(r"scope +–\n", shown)
    home.run("client", "rotate-secret", made["client_id"])
    assert re.search(r"secrets +2\n", home.run("client", "show", made["client_id"]).stdout)


def test_an_only_secret_is_not_retired_and_the_command_says_so(home, site):
    made = home.json("client", "create", "--name", "O", "--type", "personal")
    said = home.run("client", "retire-secret", made["client_id"]).stdout
    assert "only one secret" in said
    assert "rotate-secret" in said
    site.token(keys_of(made), grant_type="client_credentials")


def test_every_command_is_described_by_a_whole_sentence(home):
    for group in ([], ["client"], ["user"], ["mail"], ["db"]):
        listed = home.run(*group, "--help", COLUMNS="80").stdout.partition("Commands:")[2]
        assert listed
        assert "..." not in listed


@pytest.mark.control("T19")
def test_a_disabled_client_and_its_tokens_are_dead_at_once(home, site):
    shown = home.json("client", "create", "--name", "D", "--type", "personal")
    tokens = site.token(keys_of(shown), grant_type="client_credentials").json
    site.me(tokens["access_token"], status=403)
    home.run("client", "disable", shown["client_id"])
    site.me(tokens["access_token"], status=401)
    site.token(keys_of(shown), 401, grant_type="client_credentials")
    listed = {one["client_id"]: one for one in home.json("client", "list")["clients"]}
    assert listed[shown["client_id"]]["enabled"] is False


def test_scopes_of_a_client_are_checked_and_kept(home):
    create = ["client", "create", "--name", "S", "--type", "personal"]
    shown = home.json(*create, "--scope", "a  b", "--default-scope", "a")
    listed = {one["client_id"]: one for one in home.json("client", "list")["clients"]}
    assert (listed[shown["client_id"]]["scope"], listed[shown["client_id"]]["default_scope"]) == (
        "a b",
        "a",
    )
    done = home.run(*create, "--scope", "a", "--default-scope", "b", status=1)
    assert "default scope" in done.stderr
    done = home.run(*create, "--scope", "c", status=1, AUTHSITE_SCOPES="a: A")
    assert "unknown scope c" in done.stderr


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
    assert [step[:5] for step in steps[:2]] == ["0001 ", "0002 "]
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


def test_l12_a_client_may_be_called_as_it_likes(home):
    home.run("client", "create", "--name", "[/x]", "--type", "personal")
    assert "[/x]" in home.run("client", "list").stdout


def test_l13_an_id_counts_in_its_usual_form_only(home):
    made = home.json("client", "create", "--name", "L13", "--type", "personal")
    id = made["client_id"]
    for other in (id.replace("-", ""), f"{{{id}}}", f"urn:uuid:{id}"):
        assert "client list" in home.run("client", "disable", other, status=1).stderr
    home.run("client", "disable", id.upper())


def test_a_client_is_shown_changed_and_enabled_again(home, site):
    create = ["client", "create", "--name", "U", "--type", "personal", "--scope", "a b"]
    made = home.json(*create)
    id = made["client_id"]
    [listed] = [one for one in home.json("client", "list")["clients"] if one["client_id"] == id]
    assert home.json("client", "show", id) == listed
    wide = site.token(keys_of(made), grant_type="client_credentials", scope="a b").json
    home.run("client", "update", id, "--name", "V", "--default-scope", "a")
    site.me(wide["access_token"], status=403)  # it acts for no user, and lives
    home.run("client", "update", id, "--scope", "a")
    site.me(wide["access_token"], status=401)
    shown = home.json("client", "show", id)
    assert (shown["name"], shown["scope"], shown["default_scope"]) == ("V", "a", "a")
    assert "V" in home.run("client", "show", id).stdout
    assert "default scope" in home.run("client", "update", id, "--scope", "b", status=1).stderr
    assert "--name" in home.run("client", "update", id, status=2).stderr
    home.run("client", "disable", id)
    site.token(keys_of(made), 401, grant_type="client_credentials")
    home.run("client", "enable", id)
    site.token(keys_of(made), grant_type="client_credentials")
    site.me(wide["access_token"], status=401)


def test_clients_are_listed_by_name_type_and_state(home):
    ids = {
        kind: home.json("client", "create", "--name", f"100% {kind}", "--type", kind)["client_id"]
        for kind in ("password", "personal")
    }
    home.json("client", "disable", ids["personal"])

    def listed(*filters):
        found = home.json("client", "list", "--name", "100%", *filters)
        return [one["client_id"] for one in found["clients"]], found["total"]

    assert listed() == ([ids["password"], ids["personal"]], 2)
    assert listed("--limit", "1") == ([ids["password"]], 2)
    assert listed("--type", "password") == ([ids["password"]], 1)
    assert listed("--disabled") == ([ids["personal"]], 1)
    shown = home.run("client", "list", "--name", "100%", "--limit", "1").stdout
    assert "… and 1 more: --limit shows more of them." in shown
    assert "No client is like that." in home.run("client", "list", "--name", "nowhere").stdout


def test_each_change_of_a_client_prints_it_for_scripts(home):
    id = home.json("client", "create", "--name", "J", "--type", "personal")["client_id"]
    for command, name, value in (
        (["update", id, "--name", "K"], "name", "K"),
        (["disable", id], "enabled", False),
        (["enable", id], "enabled", True),
        (["retire-secret", id], "secrets", 1),
    ):
        shown = home.json("client", *command)
        assert shown == home.json("client", "show", id)
        assert shown[name] == value


def test_m13_a_second_rotation_says_that_it_ends_the_first_secret(home):
    id = home.json("client", "create", "--name", "M", "--type", "personal")["client_id"]
    assert home.run("client", "rotate-secret", id).stderr == ""
    again = home.run("client", "rotate-secret", id, "--json")
    assert "older of two secrets no longer works" in again.stderr
    assert set(json.loads(again.stdout)) == KEYS


def test_commands_without_a_list_print_one_object_too(home, bare):
    assert strong_secret(home.json("secret", "new")["secret"])
    revision = home.json("db", "upgrade")["revision"]
    assert bare.json("init") == {"revision": revision, "env_file": str(bare.env_file)}
    assert home.json("mail", "retry", "--all") == {"retried": 0}
    assert home.json("mail", "send") == {"sent": 0, "waiting": 0, "dead": 0, "expired": 0}
