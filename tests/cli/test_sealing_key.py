"""``sealing-key`` at the command line: who gets one, who is refused, and how it is replaced."""

import re
from datetime import timedelta

import pytest
from click.testing import CliRunner
from sqlalchemy import create_engine

from authsite.cli import authsite
from authsite.models import METADATA
from authsite.platform.audit.models import AuditEvent
from authsite.platform.context import make_services
from authsite.platform.crypto.sealing import Unusable
from authsite.platform.settings import environment, folder_of, load, new_sealing_key, read_ini
from tests.support.home import initialized
from tests.support.sealed_samples import add, registered, stored
from tests.support.site import Site

KEY = "AUTHSITE_SEALING_KEY"


@pytest.fixture
def home(tmp_path):
    """A folder after ``init``."""
    return initialized(tmp_path)


@pytest.fixture
def without_key(home):
    """A folder whose settings have no sealing key."""
    set_key(home, None)
    home.run("secret", "accept")
    return home


@pytest.fixture
def samples(home, monkeypatch):
    """The table of samples, which the commands of `here` find."""
    monkeypatch.delenv("AUTHSITE_ENV_FILE")
    monkeypatch.chdir(home.folder)
    engine = create_engine(home.url)
    with registered(METADATA) as table:
        table.create(engine)
        yield engine, table
    engine.dispose()


def here(*arguments, status=0):
    """The output of a command in this process."""
    done = CliRunner().invoke(authsite, arguments)
    assert done.exit_code == status, done.output
    return done.output


def sealing(home):
    """The sealing keys of the settings as they are now."""
    ini = read_ini(home.ini)
    services = make_services(load(ini, environment(folder_of(ini))), limits=False)
    services.database.dispose()
    return services.sealing


def set_key(home, text):
    """Replace the line of the sealing key in the environment file, or remove it."""
    lines = home.env_file.read_text().splitlines(keepends=True)
    others = [line for line in lines if not line.startswith(f"{KEY}=")]
    new = [] if text is None else [f'{KEY}="{text}"\n']
    home.env_file.write_text("".join([*others, *new]))


def test_init_writes_one_and_again_changes_nothing(home):
    assert re.fullmatch("[0-9a-f]{64}", home.variables()[KEY])
    before = home.env_file.read_text()
    assert KEY not in home.run("init").stdout
    assert home.env_file.read_text() == before


@pytest.mark.parametrize("variables", [{}, {KEY: ""}])
def test_where_none_is_known_the_doctor_names_init_which_adds_one(without_key, variables):
    home = without_key
    said = home.run("doctor", **variables).stdout
    assert re.search("change +sealing-key: it is not set.*run `authsite init`", said)
    assert re.search("ERROR +sealing-key", home.run("doctor", "--production", status=1).stdout)
    before = home.env_file.read_text()
    note = home.run("init", **variables).stdout
    assert f"{KEY} was added to {home.env_file}. Copy this line" in note
    assert home.env_file.read_text().startswith(before)
    assert home.variables()[KEY] not in note
    assert "sealing-key" not in home.run("doctor", **variables).stdout


def test_a_line_without_a_value_counts_as_none(without_key):
    set_key(without_key, "")
    without_key.run("init")
    assert without_key.env_file.read_text().count(KEY) == 1
    assert len(without_key.variables()[KEY]) == 64


@pytest.mark.parametrize("text", [None, new_sealing_key()], ids=["none", "another"])
def test_where_another_one_is_known_init_adds_none_and_the_doctor_finds_an_error(home, text):
    set_key(home, text)
    before = home.env_file.read_text()
    for command in (
        ("init",),
        ("doctor",),
        ("secret", "rotate", "--sealing-key"),
        ("secret", "reseal"),
    ):
        done = home.run(*command, status=1)
        said = done.stdout + done.stderr
        assert "the database knows" in said
        assert "sealing key" in said
        assert "copy it from the environment file of a machine" in said
    assert home.env_file.read_text() == before
    home.run("secret", "accept")
    home.run("doctor")
    home.run("init")
    assert (home.env_file.read_text() == before) == bool(text)
    home.run("doctor")


def test_a_key_in_a_file_of_its_own_is_known_and_none_is_added(without_key, tmp_path):
    home, key = without_key, new_sealing_key()
    (tmp_path / "key").write_text(f"{key.upper()}\n")
    given = {f"{KEY}_FILE": str(tmp_path / "key")}
    before = home.env_file.read_text()
    home.run("init", **given, **{KEY: ""})
    home.run("doctor", **given)
    assert home.env_file.read_text() == before
    home.run("doctor", status=1)
    home.run("doctor", **{KEY: f"{new_sealing_key()} {key}"})
    assert "Move it to" in home.run("secret", "rotate", "--sealing-key", status=1, **given).stderr


@pytest.mark.parametrize("text", ["ab" * 31, "xy" * 32, f"{'12' * 32},{'ab' * 32}"])
def test_a_key_that_is_not_32_bytes_in_hexadecimal_is_refused_and_not_shown(home, text):
    said = home.run("init", status=1, **{KEY: text}).stderr
    assert "authsite.sealing-key" in said
    assert "authsite secret new --sealing-key" in said
    assert text not in said
    made = home.json("secret", "new", "--sealing-key")["secret"]
    assert "another sealing key" in home.run("init", status=1, **{KEY: made}).stderr


@pytest.mark.control("K03")
def test_a_rotation_loses_no_value_and_no_process_meets_one_that_it_cannot_open(home, samples):
    engine, table = samples
    before = sealing(home)
    binding = add(engine, table, before, b"seed")
    here("secret", "rotate", "--sealing-key")
    announced = sealing(home)
    said = here("secret", "rotate", "--sealing-key", "--finish")
    assert said.index("authsite secret reseal") < said.index("secret retire --sealing-key")
    rotated = sealing(home)
    late = add(engine, table, announced, b"late")  # by a process that is not reloaded yet
    new = add(engine, table, rotated, b"new")
    assert announced.open(stored(engine, table)[new.row], new) == b"new"

    for force in ((), ("--force",)):
        said = here("secret", "retire", "--sealing-key", *force, status=1)
        assert "2 values" in said
        assert "authsite secret reseal" in said
    assert "2 values have a new seal" in here("secret", "reseal")
    assert "not reloaded" in here("secret", "retire", "--sealing-key", status=1)
    site = Site(home.url)
    with site.db() as db:  # as if the rotation had been two hours ago
        for event in db.query(AuditEvent).filter_by(event="secret.rotated"):
            event.at -= timedelta(hours=2)
    here("secret", "retire", "--sealing-key")

    last, texts = sealing(home), stored(engine, table)
    opened = [last.open(texts[each.row], each) for each in (binding, late, new)]
    assert opened == [b"seed", b"late", b"new"]
    assert " " not in home.variables()[KEY]
    with pytest.raises(Unusable):
        before.open(texts[binding.row], binding)
    names = ["announced", "rotated", "resealed", "retired"]
    assert [each for each in site.events() if "secret." in each][-4:] == [
        f"secret.{name}" for name in names
    ]
    site.database.dispose()


@pytest.mark.control("K03")
def test_a_leaked_secret_that_sealed_is_not_removed_before_its_values_are_sealed_again(
    without_key, samples
):
    """Where the key derives from the secret, its emergency rotation would destroy every factor."""
    engine, table = samples
    home = without_key
    binding = add(engine, table, sealing(home), b"seed")
    here("secret", "rotate", "--at-once")
    assert "authsite secret reseal" in here("secret", "retire", "--force", status=1)
    here("init")  # adds the first sealing key; the old secret still opens
    here("secret", "reseal")
    here("secret", "retire", "--force")
    assert sealing(home).open(stored(engine, table)[binding.row], binding) == b"seed"
    here("secret", "rotate", "--at-once")
    here("secret", "retire", "--force")  # from now on the secret seals nothing
    assert sealing(home).open(stored(engine, table)[binding.row], binding) == b"seed"


def test_where_the_key_is_derived_the_values_move_to_the_new_secret(without_key, samples):
    engine, table = samples
    binding = add(engine, table, sealing(without_key), b"seed")
    here("secret", "rotate")
    here("secret", "rotate", "--finish")
    assert "authsite secret reseal" in here("secret", "retire", status=1)
    here("secret", "reseal")
    here("secret", "retire", "--force")
    assert sealing(without_key).open(stored(engine, table)[binding.row], binding) == b"seed"


def test_a_database_from_before_a_rotation_is_refused_until_its_key_is_back(home, samples):
    engine, table = samples
    old = home.variables()[KEY]
    binding = add(engine, table, sealing(home), b"seed")
    home.run("db", "backup", "then.sqlite")
    here("secret", "rotate", "--sealing-key", "--at-once")
    here("secret", "reseal")
    here("secret", "retire", "--sealing-key", "--force")
    engine.dispose()
    home.run("db", "restore", "then.sqlite")
    assert "another sealing key" in here("doctor", status=1)
    here("secret", "accept")
    said = here("secret", "reseal")
    assert "No key opens 1 values" in said
    with pytest.raises(Unusable):
        sealing(home).open(stored(engine, table)[binding.row], binding)
    set_key(home, f"{home.variables()[KEY]} {old}")
    here("secret", "reseal")
    assert sealing(home).open(stored(engine, table)[binding.row], binding) == b"seed"


@pytest.mark.control("K02")
def test_no_command_shows_a_sealing_key(home):
    commands = [
        ("secret", "rotate", "--sealing-key"),
        ("secret", "rotate", "--sealing-key", "--finish"),
        ("secret", "reseal"),
        ("doctor", "--verbose"),
        ("settings",),
        ("settings", "sealing-key", "--json"),
        ("init",),
        ("export",),
        ("audit", "list"),
        ("secret", "accept", "--json"),
        ("secret", "retire", "--sealing-key", "--force"),
    ]
    seen, keys = "", set()
    for command in commands:
        keys |= set(re.findall("[0-9a-f]{64}", home.env_file.read_text()))
        done = home.run(*command, status=None)
        seen += done.stdout + done.stderr
    assert len(keys) == 2
    assert not [key for key in keys if key in seen]
    assert not [key for key in keys if key.encode() in home.database.read_bytes()]
