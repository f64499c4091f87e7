"""The command line: init, clients, purge, and what every command has in common."""

import stat
import uuid
from datetime import timedelta

import pytest

from authsite import clock
from authsite.oauth.models import Family
from authsite.settings.secret import strong_secret
from tests.support.home import Home
from tests.support.site import ClientKeys, Site

pytestmark = pytest.mark.slow
KEYS = {"client_id", "client_secret", "name", "type"}
VARIABLES = {"AUTHSITE_SECRET", "CLIENT_WEB_ID", "CLIENT_WEB_SECRET"}


@pytest.fixture
def bare(tmp_path):
    """A folder in which nothing was done yet."""
    return Home(tmp_path)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder after ``init``."""
    made = Home(tmp_path_factory.mktemp("home"))
    made.run("init")
    return made


@pytest.fixture
def site(home):
    """An application on the database of ``home``."""
    made = Site(home.url)
    yield made
    made.database.dispose()


def keys_of(shown):
    return ClientKeys(shown["client_id"], shown["client_secret"])


def test_init_makes_all_that_serving_needs(bare):
    bare.run("init")
    found = bare.variables()
    assert set(found) == VARIABLES
    assert strong_secret(found["AUTHSITE_SECRET"])
    uuid.UUID(found["CLIENT_WEB_ID"])
    for path in (bare.env_file, bare.database):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(bare.env_file.parent.stat().st_mode) == 0o700
    [web] = bare.json("client", "list")["clients"]
    assert (web["client_id"], web["type"]) == (found["CLIENT_WEB_ID"], "password")


def test_init_can_be_run_again_and_again(bare):
    bare.run("init")
    first = bare.env_file.read_text()
    bare.run("init")
    bare.run("init")
    assert bare.env_file.read_text() == first
    assert len(bare.json("client", "list")["clients"]) == 1


def test_inits_secrets_are_not_shown(bare):
    done = bare.run("init")
    assert not [each for each in bare.variables().values() if each in done.stdout + done.stderr]


def test_init_adds_only_what_is_missing(bare):
    secret = "vB7wQz2LmXk9RtYc4HsNd6JfGp1UaEoT"
    bare.env_file.parent.mkdir()
    bare.env_file.write_text("# ours\nOTHER=kept")  # and no line end
    bare.env_file.chmod(0o644)
    bare.run("init", AUTHSITE_SECRET=secret)
    assert bare.variables() | {"OTHER": "kept"} == bare.variables()
    assert set(bare.variables()) == {"OTHER"} | VARIABLES - {"AUTHSITE_SECRET"}
    assert stat.S_IMODE(bare.env_file.stat().st_mode) == 0o600
    assert bare.run("doctor", status=1).stdout.count("AUTHSITE_SECRET") == 1
    bare.run("doctor", AUTHSITE_SECRET=secret)


def test_init_writes_the_environment_file_where_it_is_told(bare):
    elsewhere = bare.folder / "etc" / "site.env"
    bare.run("init", AUTHSITE_ENV_FILE=str(elsewhere))
    assert elsewhere.exists()
    assert not bare.env_file.exists()
    bare.run("client", "list", AUTHSITE_ENV_FILE=str(elsewhere))


def test_init_says_what_is_in_the_way_and_works_once_it_is_gone(bare):
    bare.database.mkdir(parents=True)
    done = bare.run("init", status=1)
    assert "database-url" in done.stderr
    assert "Traceback" not in done.stderr
    bare.database.rmdir()
    bare.run("init")
    assert set(bare.variables()) == VARIABLES


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
    ],
)
def test_what_could_not_be_done_is_1_and_wrong_usage_is_2(home, arguments, status, words):
    done = home.run(*arguments, stdin="", status=status)
    assert words in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_commands_say_nothing_but_their_answer(home):
    done = home.run("secret", "new")
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
    first = bare.run("db", "upgrade", **secret).stdout
    assert bare.run("db", "upgrade", **secret).stdout == first
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
