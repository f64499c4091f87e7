"""``authsite db backup``, ``restore`` and ``after-restore`` as an operator runs them."""

import sqlite3
import stat

import pytest

from authsite.platform.db.sqlite_files import locked
from tests.support import databases
from tests.support.home import Home
from tests.support.servers import authsite, serving, write_ini
from tests.support.site import Site, bearer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder after ``init``, with a user."""
    made = Home(tmp_path_factory.mktemp("home"))
    made.run("init")
    made.run(
        "user", "create", "--email", "ann@example.com", "--password-stdin", stdin="lamp 42 tea"
    )
    return made


def test_a_backup_is_made_and_restored_and_the_former_database_is_kept(home):
    file = home.folder / "copy.sqlite"
    made = home.json("db", "backup", file)
    assert made == {"file": str(file), "bytes": file.stat().st_size}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    home.run("user", "create", "--email", "bo@example.com", "--password-stdin", stdin="lamp 42 tea")
    restored = home.json("db", "restore", file)
    assert (restored["users"], restored["clients"], restored["mails"]) == (1, 1, 0)
    assert [user["email"] for user in home.json("user", "list")["users"]] == ["ann@example.com"]
    former = sqlite3.connect(restored["former"])
    assert former.execute("SELECT count(*) FROM users").fetchone() == (2,)
    former.close()
    assert stat.S_IMODE(home.database.stat().st_mode) == 0o600
    assert not list(home.database.parent.glob("*.restoring*"))
    shown = home.run("db", "restore", file).stdout
    assert "docs/backup.md" in shown
    assert "Ended: all tokens" in shown


def test_of_two_restores_at_once_one_is_refused(home):
    """Both renamed one prepared file, and the database was empty."""
    file = home.folder / "second.sqlite"
    home.run("db", "backup", file)
    with locked(home.database):
        assert "another restore" in home.run("db", "restore", file, status=1).stderr
    home.run("db", "restore", file)


def test_a_file_that_is_no_backup_changes_nothing(home):
    other, text = home.folder / "other.sqlite", home.folder / "notes.txt"
    sqlite3.connect(other).execute("CREATE TABLE notes (id INTEGER)").connection.close()
    text.write_text("nothing of the kind")
    before = home.database.read_bytes()
    for file, part in ((other, "does not have authsite's schema"), (text, "not a database")):
        done = home.run("db", "restore", file, status=1)
        assert part in done.stderr
        assert "Traceback" not in done.stderr
    assert home.database.read_bytes() == before


def test_a_backup_that_cannot_be_written_says_where_it_can_be(home):
    done = home.run("db", "backup", home.folder / "missing" / "copy.sqlite", status=1)
    assert "No such file or directory. Name a file in a folder that exists" in done.stderr


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_backup_is_made_while_the_service_runs_and_not_restored_then(fresh_url, tmp_path):
    site = Site(databases.migrated(fresh_url))
    keys = site.client("personal")
    ini, file = write_ini(tmp_path, fresh_url), tmp_path / "copy.sqlite"
    with serving(ini) as server:
        form = keys.form(grant_type="client_credentials")
        tokens = server.post("/v1/oauth/token", data=form).json()
        assert authsite("db", "backup", file, ini=ini).returncode == 0
        later = server.post("/v1/oauth/token", data=form).json()
        site.database.dispose()
        refused = authsite("db", "restore", file, ini=ini)
        assert refused.returncode == 1
        assert "stop authsite" in refused.stderr
    assert authsite("db", "restore", file, ini=ini).returncode == 0
    with serving(ini) as server:
        for each in (tokens, later):
            headers = bearer(each["access_token"])
            assert server.get("/v1/user", headers=headers).status_code == 401
        fresh = server.post("/v1/oauth/token", data=form).json()
        assert server.get("/v1/user", headers=bearer(fresh["access_token"])).status_code == 403


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_on_postgresql_the_commands_name_its_own_tools_and_end_what_was_issued(fresh_url, tmp_path):
    ini, file = write_ini(tmp_path, databases.migrated(fresh_url)), tmp_path / "copy"
    file.touch()
    for command, tool in (("backup", "pg_dump --format=custom"), ("restore", "pg_restore")):
        done = authsite("db", command, file, ini=ini)
        assert (done.returncode, tool in done.stderr) == (1, True)
    assert authsite("db", "after-restore", ini=ini).returncode == 0
