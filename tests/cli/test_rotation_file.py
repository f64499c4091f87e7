"""``authsite secret rotate`` changes its lines of the environment file, and nothing else."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.home import initialized


@pytest.fixture
def home(tmp_path):
    """A folder after ``init``."""
    return initialized(tmp_path)


def rotate(home, *options, **more):
    return home.run("secret", "rotate", *options, **more)


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
        "from authsite.cli.files import editing;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "edit = editing(Path(sys.argv[1])); write = edit.__enter__(); write({'A': 'b'})"
    )
    done = subprocess.run([sys.executable, "-c", code, home.env_file], capture_output=True)
    assert b"cannot be written" in done.stderr
    assert home.env_file.read_text() == before


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
