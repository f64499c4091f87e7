"""The environment file and the ini file."""

import os
from pathlib import Path

import plaster
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from authsite.platform.settings import (
    SettingsError,
    environment,
    folder_of,
    load,
    read_ini,
    revealed,
)
from authsite.platform.settings.sources import assignment, env_file_path, read_env_file

# A busy machine is not a failure.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder, and a process without variables of authsite."""
    for name in list(os.environ):
        if name.startswith(("AUTHSITE_", "CLIENT_", "API_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder, text):
    path = folder / "some.env"
    path.write_text(text)
    return path


def test_no_environment_file_is_an_empty_one(folder):
    assert environment(folder) == dict(os.environ)


def test_trial_7_the_environment_file_lies_in_the_folder_of_the_ini(folder, monkeypatch):
    site = folder / "site"
    (site / "var").mkdir(parents=True)
    monkeypatch.chdir("/")
    (site / "var/authsite.env").write_text("CLIENT_WEB_ID=usual\n")
    assert environment(site)["CLIENT_WEB_ID"] == "usual"
    (site / "authsite.env").write_text("CLIENT_WEB_ID=beside\n")
    assert environment(site)["CLIENT_WEB_ID"] == "beside"
    written(site, "CLIENT_WEB_ID=named\n")
    for name in ("some.env", f"{site}/some.env"):
        monkeypatch.setenv("AUTHSITE_ENV_FILE", name)
        assert environment(site)["CLIENT_WEB_ID"] == "named"


def test_without_a_file_the_environment_file_would_be_made_under_var(folder):
    assert env_file_path({}, folder) == folder / "var/authsite.env"
    assert env_file_path({"AUTHSITE_ENV_FILE": "/x/y.env"}, folder) == Path("/x/y.env")


SECRET = "rA0t3vPqZ9_kWmB7yXn5-cLdE1sFhJ2g"


def test_trial_7_relative_paths_start_from_the_folder_of_the_ini(folder, monkeypatch):
    (folder / "secret").write_text(SECRET)
    ini = {"__file__": str(folder / "some.ini")}
    monkeypatch.chdir("/")
    given = {"AUTHSITE_SECRET_FILE": "secret"}

    cfg = load(ini, given)

    assert revealed(cfg.secret) == (SECRET,)
    assert cfg.database_url.reveal() == f"sqlite:///{folder}/var/authsite.sqlite"
    assert cfg.mail_folder == f"{folder}/var/mail"
    for path in ("/abs/x.sqlite", ":memory:", "file:x?mode=ro&uri=true"):
        url = f"sqlite:///{path}"
        assert load(ini, given | {"AUTHSITE_DATABASE_URL": url}).database_url.reveal() == url
    assert load(ini, given | {"AUTHSITE_MAIL_FOLDER": "/m"}).mail_folder == "/m"
    assert folder_of({}) == Path()


def test_a_variable_that_is_set_already_wins(folder, monkeypatch):
    (folder / "var").mkdir()
    (folder / "var/authsite.env").write_text("AUTHSITE_VARIANT=A\nAUTHSITE_SECRET=file\n")
    monkeypatch.setenv("AUTHSITE_VARIANT", "B")
    monkeypatch.setenv("AUTHSITE_SECRET_FILE", "/run/secret")

    assert environment(folder)["AUTHSITE_VARIANT"] == "B"
    # Both would be refused; what the process says is what counts.
    assert "AUTHSITE_SECRET" not in environment(folder)


def test_lines_comments_and_quotes(folder):
    path = written(
        folder,
        "# a comment\n\n"
        "PLAIN=a=b #not a comment without a blank... \r\n"
        "  export SPACED = two words   # a comment\n"
        "SINGLE='a \"b\" \\n # c' # a comment\n"
        'DOUBLE="a \\"b\\"\\nc\\\\"\n'
        "EMPTY=\n"
        "NOTHING= # a comment\n"
        "FRAGMENT=http://x.test/#y\n",
    )

    assert read_env_file(path) == {
        "PLAIN": "a=b",
        "SPACED": "two words",
        "SINGLE": 'a "b" \\n # c',
        "DOUBLE": 'a "b"\nc\\',
        "EMPTY": "",
        "NOTHING": "",
        "FRAGMENT": "http://x.test/#y",
    }


def test_a_value_in_quotes_is_wholly_in_them(folder):
    path = written(folder, 'MAIL_FROM="Ann Example" <ann@example.com>\n')
    with pytest.raises(SettingsError, match="line 1: the value begins with a quote"):
        read_env_file(path)


def test_a_line_that_cannot_be_read_is_named_and_not_shown(folder):
    path = written(folder, "A=1\ngeheim\nB='geheim\n1C=geheim\n")

    with pytest.raises(SettingsError) as refused:
        read_env_file(path)

    assert [each.key for each in refused.value.errors] == [
        f"{path}, line {number}" for number in (2, 3, 4)
    ]
    assert "geheim" not in str(refused.value)


def test_an_environment_file_that_cannot_be_read_is_named(folder):
    binary = folder / "binary.env"
    binary.write_bytes(b"A=\xff")
    for path in (folder, binary):
        with pytest.raises(SettingsError, match="the environment file cannot be read"):
            read_env_file(path)


@unhurried
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\r\t")))
def test_what_is_written_into_an_environment_file_is_read_back(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "round.env"
    path.write_text(f"{assignment('A', value)}\n{assignment('B', 'b')}\n", encoding="utf-8")

    assert read_env_file(path) == {"A": value, "B": "b"}


INI = """\
[DEFAULT]
shared = 7
[app:main]
use = egg:authsite
set debug = true
get Borrowed = shared
authsite.database-url = sqlite:///%(here)s/var/x.sqlite
Authsite.Base-URL = https://x.test/%%20 ; no comment
authsite.scopes =
    reports:read: Read reports
    # a comment
    all: Everything
[app:other]
authsite.variant = B
"""


def test_an_ini_is_read_as_pserve_reads_it(folder):
    path = folder / "some.ini"
    path.write_text(INI)

    keys = read_ini(path)

    assert keys == dict(plaster.get_settings(str(path), "app:main")) | {"__file__": str(path)}
    assert keys["authsite.database-url"] == f"sqlite:///{folder}/var/x.sqlite"
    assert keys["Authsite.Base-URL"] == "https://x.test/%20 ; no comment"
    assert keys["authsite.scopes"] == "\nreports:read: Read reports\nall: Everything"
    assert "shared" not in keys
    assert read_ini("some.ini") == keys
    assert read_ini("some.ini#other") == {"authsite.variant": "B", "__file__": str(path)}


def test_an_ini_may_build_on_another(folder):
    (folder / "conf").mkdir()
    (folder / "base.ini").write_text("[app:main]\nuse = egg:authsite\nx = %(here)s\ny = 1\n")
    (folder / "conf/own.ini").write_text("[app:main]\nuse = config:../base.ini\ny = 2\n")

    keys = read_ini("conf/own.ini")

    assert (os.path.realpath(keys["x"]), keys["y"]) == (str(folder), "2")
    assert keys["use"] == "egg:authsite"
    assert folder_of(keys) == folder / "conf"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[app:other]\nx = 1\n", r"it has no section \[app:main\]"),
        ("[app:main]\n", r"it has no section \[app:main\] with keys in it"),
        ("geheim\n", "line 1: it must begin with a section"),
        ("[app:main]\ngeheim\n", "line 2: write key = value"),
        ("[app:main]\nx = 1\nx = geheim\n", "line 3: x stands twice"),
        ("[app:main]\n[app:main]\n", r"line 2: \[app:main\] stands twice"),
        ("[app:main]\nx = %geheim\n", r"\[app:main\] x: write %% for a %"),
        ("[app:main]\nx = %(geheim)s\n", r"\[app:main\] x: write %% for a %"),
        ("[app:main]\nuse = config:some.ini\n", "goes round in a circle"),
        ("[app:main]\nuse = config:none.ini\n", "none.ini: there is no such file"),
    ],
)
def test_an_ini_that_cannot_be_read_gets_the_reason_without_its_text(folder, text, reason):
    (folder / "some.ini").write_text(text)

    with pytest.raises(SettingsError, match=reason) as refused:
        read_ini("some.ini")

    assert "geheim" not in str(refused.value)


def test_an_ini_that_is_not_there_is_named(folder):
    there = r"nix\.ini: there is no such file; name one with --config .* init --production"
    with pytest.raises(SettingsError, match=there):
        read_ini("nix.ini")
    with pytest.raises(SettingsError, match="it cannot be read"):
        read_ini(folder)


def test_an_ini_that_is_no_text_is_named(folder):
    (folder / "some.ini").write_bytes(b"[app:main]\nx = \xff\n")

    with pytest.raises(SettingsError, match=r"some\.ini: it "):
        read_ini("some.ini")
