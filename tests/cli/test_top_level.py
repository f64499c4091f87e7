"""The top of the command line: names, help, completion, and errors for scripts."""

import json
import shutil
import subprocess

import pytest
from click.testing import CliRunner

from authsite.cli import ALIASES, COMMANDS, authsite
from tests.support.in_process import Commands
from tests.support.site import SECRET


def run(*arguments, status=0):
    done = CliRunner().invoke(authsite, list(arguments), prog_name="authsite")
    assert done.exit_code == status, done.output
    return done


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_m19_the_plural_of_a_command_is_the_command(alias, name):
    assert (
        run(alias, "--help").stdout.splitlines()[2:] == run(name, "--help").stdout.splitlines()[2:]
    )
    assert alias not in COMMANDS


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("usr", "user"),
        ("usrs", "user"),
        ("clent", "client"),
        ("tokn", "token"),
        ("adit", "audit"),
        ("config", "settings"),
        ("seting", "settings"),
        ("doktor", "doctor"),
    ],
)
def test_m19_a_misspelled_command_is_suggested(typed, meant):
    error = run(typed, status=2).stderr
    assert f"No such command '{typed}'. Did you mean" in error
    assert f"'{meant}'" in error


def test_what_resembles_no_command_names_the_list():
    error = run("xxxxxxxx", status=2).stderr
    assert "No such command 'xxxxxxxx'. `authsite help` lists all." in error


def test_m19_help_is_a_command():
    assert "Commands:" in run("help").stdout
    assert run("help", "client", "create").stdout == run("client", "create", "--help").stdout
    assert (
        run("help", "clients").stdout.splitlines()[2:]
        == run("client", "-h").stdout.splitlines()[2:]
    )
    assert "Did you mean 'user'" in run("help", "usr", status=2).stderr
    assert "has no commands" in run("help", "doctor", "x", status=2).stderr


def test_m20_the_help_says_what_the_status_means():
    text = " ".join(run("--help").stdout.split())
    assert "0 it was done, 1 it could not be done, 2 wrong usage" in text


@pytest.mark.parametrize(
    ("arguments", "status", "code", "words"),
    [
        (("user", "show", "nobody@example.com"), 1, "failed", "authsite user list"),
        (("audit", "list", "--since", "yesterday"), 1, "failed", "2026-05-31"),
        (("user", "show"), 2, "usage", "Missing argument"),
        (("user", "shwo"), 2, "usage", "Did you mean 'show'"),
        (("usr",), 2, "usage", "Did you mean 'user'"),
        (("client", "create", "--name", "x", "--type", "y"), 2, "usage", "--type"),
    ],
)
def test_m20_with_json_an_error_is_an_object_on_stderr(
    site, tmp_path, arguments, status, code, words
):
    done = Commands(site, tmp_path).run(*arguments, "--json", status=status)
    assert done.stdout == ""
    error = json.loads(done.stderr)
    assert set(error) == {"error"}
    assert set(error["error"]) == {"code", "message"}
    assert error["error"]["code"] == code
    assert words in error["error"]["message"]


def test_without_json_an_error_is_a_sentence(site, tmp_path):
    error = Commands(site, tmp_path).run("user", "show", "nobody@example.com", status=1).stderr
    assert error.startswith("Error: ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_of_a_shell_is_a_script_that_it_can_read(shell):
    script = run("completion", shell).stdout
    assert f"_AUTHSITE_COMPLETE={shell}_complete" in script
    if shutil.which(shell):
        done = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_no_other_shell_can_be_completed():
    assert "'bash', 'zsh', 'fish'" in run("completion", "csh", status=2).stderr


@pytest.mark.parametrize(
    "command",
    [
        ["init"],
        ["doctor"],
        ["doctor", "--production"],
        ["db", "upgrade"],
        ["serve"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("place", ["file/below/db.sqlite", "proc", "loop/db.sqlite"])
def test_a_database_file_that_cannot_be_made_is_one_sentence(tmp_path, monkeypatch, command, place):
    """Below a file, in a folder without rights, and where no folder can be made."""
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    path = "/proc/authsite/db.sqlite" if place == "proc" else tmp_path / place
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUTHSITE_DATABASE_URL", f"sqlite:///{path}")
    monkeypatch.setenv("AUTHSITE_SECRET", SECRET)
    (tmp_path / "development.ini").write_text("[app:main]\nuse = egg:authsite\n")
    done = run(*command, status=1)
    assert "Traceback" not in done.output
    if command[0] == "doctor":
        return
    [line] = [line for line in done.stderr.splitlines() if line.startswith("Error:")]
    assert f"the database {path} cannot be made (" in line
    assert "name in database-url a file" in line
