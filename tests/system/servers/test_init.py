"""``authsite init``: where its files are, and one ``web`` client for each database."""

import json
import os
import stat
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from authsite.platform.settings.secret import strong_secret
from tests.support.home import CHECKOUT, Home
from tests.support.servers import free_port

pytestmark = pytest.mark.slow
BASE_URL = "https://auth.example.org"
VARIABLES = {"AUTHSITE_SECRET", "AUTHSITE_SEALING_KEY", "CLIENT_WEB_ID", "CLIENT_WEB_SECRET"}


@pytest.fixture
def home(tmp_path):
    """A folder in which nothing was done yet."""
    return Home(tmp_path)


def machine(tmp_path, name, url):
    """A separate folder, on the database at ``url``."""
    folder = tmp_path / name
    folder.mkdir()
    made = Home(folder)
    made.ini.write_text(f"[app:main]\nuse = egg:authsite\nauthsite.database-url = {url}\n")
    return made


def test_trial_7_init_and_every_command_work_from_another_folder(home, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    home.run("init", "--config", str(home.ini), cwd=elsewhere)
    assert home.env_file.exists()
    assert home.database.exists()
    assert not list(elsewhere.iterdir())
    home.run("doctor", "--config", str(home.ini), cwd=elsewhere)
    home.run("client", "list", cwd=elsewhere, AUTHSITE_CONFIG=str(home.ini))


def test_trial_7_a_second_machine_makes_no_second_web_client(tmp_path, fresh_url):
    first, second = (machine(tmp_path, name, fresh_url) for name in ("one", "two"))
    first.run("init")
    web = first.variables()["CLIENT_WEB_ID"]

    refused = second.run("init", status=1).stderr

    for named in ("CLIENT_WEB_ID", "CLIENT_WEB_SECRET", f"client rotate-secret {web}"):
        assert named in refused
    assert str(second.env_file) in refused
    assert first.variables()["CLIENT_WEB_SECRET"] not in refused
    assert not second.env_file.parent.exists()  # it has written nothing
    [only] = first.json("client", "list")["clients"]
    assert only["client_id"] == web
    # Lost: the way that the message names.
    second.env_file.parent.mkdir()
    made = second.json("secret", "new")["secret"]
    second.env_file.write_text(f"AUTHSITE_SECRET={made}\n")
    second.env_file.chmod(0o600)
    assert "secret accept" in refused
    second.run("secret", "accept")
    rotated = second.json("client", "rotate-secret", web)
    created = second.json("client", "create", "--name", "x", "--type", "password")
    assert list(rotated) == list(created)
    with open(second.env_file, "a") as file:
        file.write(f"CLIENT_WEB_ID={rotated['client_id']}\n")
        file.write(f"CLIENT_WEB_SECRET={rotated['client_secret']}\n")
    second.run("init")
    # Copied: the usual way.
    second.env_file.write_text(first.env_file.read_text())
    assert "secret accept" in second.run("init", status=1).stderr
    second.run("secret", "accept")
    second.run("init")
    for each in (first, second):
        each.run("doctor")


@pytest.mark.both_databases
def test_trial_7_two_init_at_once_make_one_web_client(tmp_path, fresh_url):
    homes = [machine(tmp_path, name, fresh_url) for name in ("one", "two")]
    homes[0].run("db", "upgrade", AUTHSITE_SECRET="vB7wQz2LmXk9RtYc4HsNd6JfGp1UaE0T")
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda each: each.run("init", status=None), homes * 2))
    # Two in each folder: both of the one that came first find what the other wrote.
    assert sorted(each.returncode for each in done) == [0, 0, 1, 1]
    winner = homes[0] if homes[0].env_file.exists() else homes[1]
    assert len(winner.json("client", "list")["clients"]) == 1
    assert winner.env_file.read_text().count("AUTHSITE_SECRET=") == 1
    [other] = [each for each in homes if each is not winner]
    assert not other.env_file.exists()


def test_init_with_another_secret_fails_and_so_do_doctor_and_serve(tmp_path, fresh_url):
    first, second = (machine(tmp_path, name, fresh_url) for name in ("one", "two"))
    first.run("init")
    second.env_file.parent.mkdir()
    own = first.env_file.read_text().replace("AUTHSITE_SECRET=", f"AUTHSITE_SECRET={'Zq7' * 3}")
    second.env_file.write_text(own)
    second.env_file.chmod(0o600)
    for command in (["init"], ["doctor"], ["serve", "--port", str(free_port())],
                    ["serve", "--init", "--port", str(free_port())]):  # fmt: skip
        done = second.run(*command, status=1)
        said = done.stdout + done.stderr
        assert "another secret" in said
        assert "secret accept" in said
        assert "Traceback" not in said
    assert second.env_file.read_text() == own
    first.run("doctor")
    assert second.json("secret", "accept") == {"accepted": True}
    second.run("doctor")
    second.run("init")
    first.run("doctor", status=1)


def test_a_second_machine_without_the_sealing_key_or_with_another_one_does_not_serve(
    tmp_path, fresh_url
):
    first, second = (machine(tmp_path, name, fresh_url) for name in ("one", "two"))
    first.run("init")
    known = first.variables()["AUTHSITE_SEALING_KEY"]
    second.env_file.parent.mkdir()
    for text in ("", "ab" * 32):
        own = first.env_file.read_text().replace(known, text)
        second.env_file.write_text(own)
        second.env_file.chmod(0o600)
        for options in ((), ("--init",)):
            done = second.run("serve", "--port", str(free_port()), *options, status=1)
            assert "sealing key" in done.stderr
            assert "copy it from the environment file of a machine" in done.stderr
            assert "Traceback" not in done.stderr
        assert second.env_file.read_text() == own
    second.env_file.write_text(first.env_file.read_text())
    second.run("doctor")
    second.run("init")


def test_any_secret_of_the_list_fits_and_a_rotation_is_recorded(home):
    home.run("init")
    for step in ((), ("--finish",)):
        home.run("secret", "rotate", *step)
        home.run("doctor")
    home.run("secret", "retire", "--force")
    home.run("doctor")
    kept = home.variables()["AUTHSITE_SECRET"]
    by_hand = home.json("secret", "new")["secret"]
    home.run("init", AUTHSITE_SECRET=f"{by_hand} {kept}")
    home.run("doctor", AUTHSITE_SECRET=by_hand)
    assert "another secret" in home.run("init", status=1).stderr


def test_a_rotation_with_another_secret_changes_nothing(home):
    home.run("init")
    written = home.env_file.read_text().replace("AUTHSITE_SECRET=", f"AUTHSITE_SECRET={'Zq7' * 3}")
    home.env_file.write_text(written)
    for step in ((), ("--at-once",)):
        assert "another secret" in home.run("secret", "rotate", *step, status=1).stderr
    assert home.env_file.read_text() == written


def test_m10_a_database_that_was_deleted_gets_the_client_of_the_environment_file(home):
    home.run("init")
    written = home.env_file.read_text()
    for each in home.database.parent.glob("authsite.sqlite*"):
        each.unlink()
    said = home.run("init").stdout
    web = home.variables()["CLIENT_WEB_ID"]
    assert f"did not have the client `web` ({web}): it was made" in said
    assert home.env_file.read_text() == written
    home.run("doctor")
    assert "it was made" not in home.run("init").stdout
    home.database.unlink()
    done = home.run("init", "--json")
    assert "it was made" in done.stderr
    assert json.loads(done.stdout)["env_file"] == str(home.env_file)


def test_an_environment_file_with_another_client_web_than_the_database_is_refused(home):
    home.run("init")
    other = {"CLIENT_WEB_ID": str(uuid.uuid4())}
    refused = home.run("init", status=1, **other).stderr
    assert other["CLIENT_WEB_ID"] in refused
    assert home.variables()["CLIENT_WEB_ID"] in refused


def test_init_that_fails_has_written_nothing(tmp_path):
    home = Home(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    gone = "postgresql://nobody@127.0.0.1:1/none"
    home.run("init", status=1, AUTHSITE_DATABASE_URL=gone)
    home.run("init", status=1, AUTHSITE_VARIANT="C")
    production = ["init", "--production", "--base-url", BASE_URL, "--folder", "a/site"]
    production += ["--registration", "off"]
    home.run(*production, "--database-url", gone, status=1)
    home.run(*production, "--database-url", "mysql://x", status=1)
    home.run(*production, status=1, AUTHSITE_BASE_URL="https://other.example.org")
    assert sorted(tmp_path.rglob("*")) == before
    # What is there stays as it is.
    home.run(*production)
    kept = {path: path.read_bytes() for path in (tmp_path / "a").rglob("*") if path.is_file()}
    assert len(kept) == 2
    home.run(*production, "--database-url", gone, status=1)
    assert {path: path.read_bytes() for path in (tmp_path / "a").rglob("*")
            if path.is_file()} == kept  # fmt: skip


def test_init_again_does_not_need_to_write_the_environment_file(home):
    home.run("init")
    values = home.variables()
    home.env_file.unlink()
    home.run("init", AUTHSITE_ENV_FILE="/proc/nothing/x.env", **values)


def test_an_environment_file_that_cannot_be_written_is_named(home):
    done = home.run("init", status=1, AUTHSITE_ENV_FILE="/proc/nothing/x.env")
    assert "/proc/nothing/x.env" in done.stderr
    assert "AUTHSITE_ENV_FILE" in done.stderr


def test_trial_7_an_application_that_is_served_by_pserve_finds_its_files(home):
    home.run("init")
    code = (
        "import sys; from pyramid.paster import get_app;"
        "print(get_app(sys.argv[1]).registry['authsite'].settings.database_url.reveal())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(home.ini)],
        capture_output=True, text=True, cwd="/", check=True,
        env={name: os.environ[name] for name in os.environ if name != "AUTHSITE_ENV_FILE"}
        | {"PYTHONPATH": str(CHECKOUT)},
    )  # fmt: skip
    assert done.stdout.strip() == home.url


def test_init_makes_all_that_serving_needs(home):
    home.run("init")
    found = home.variables()
    assert set(found) == VARIABLES
    assert strong_secret(found["AUTHSITE_SECRET"])
    uuid.UUID(found["CLIENT_WEB_ID"])
    for path in (home.env_file, home.database):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.env_file.parent.stat().st_mode) == 0o700
    [web] = home.json("client", "list")["clients"]
    assert (web["client_id"], web["type"]) == (found["CLIENT_WEB_ID"], "password")


def test_init_can_be_run_again_and_again(home):
    home.run("init")
    first = home.env_file.read_text()
    home.run("init")
    home.run("init")
    assert home.env_file.read_text() == first
    assert len(home.json("client", "list")["clients"]) == 1


def test_inits_secrets_are_not_shown(home):
    done = home.run("init")
    assert not [each for each in home.variables().values() if each in done.stdout + done.stderr]


def test_init_adds_only_what_is_missing(home):
    secret = "vB7wQz2LmXk9RtYc4HsNd6JfGp1UaEoT"
    home.env_file.parent.mkdir()
    home.env_file.write_text("# ours\nOTHER=kept")  # and no line end
    home.env_file.chmod(0o644)
    home.run("init", AUTHSITE_SECRET=secret)
    assert home.variables() | {"OTHER": "kept"} == home.variables()
    assert set(home.variables()) == {"OTHER"} | VARIABLES - {"AUTHSITE_SECRET"}
    assert stat.S_IMODE(home.env_file.stat().st_mode) == 0o600
    assert home.run("doctor", status=1).stdout.count("AUTHSITE_SECRET") == 1
    home.run("doctor", AUTHSITE_SECRET=secret)


def test_init_writes_the_environment_file_where_it_is_told(home):
    elsewhere = home.folder / "etc" / "site.env"
    home.run("init", AUTHSITE_ENV_FILE=str(elsewhere))
    assert elsewhere.exists()
    assert not home.env_file.exists()
    home.run("client", "list", AUTHSITE_ENV_FILE=str(elsewhere))


def test_init_says_what_is_in_the_way_and_works_once_it_is_gone(home):
    home.database.mkdir(parents=True)
    done = home.run("init", status=1)
    assert "database-url" in done.stderr
    assert "Traceback" not in done.stderr
    home.database.rmdir()
    home.run("init")
    assert set(home.variables()) == VARIABLES
