"""What commands print: the words of users and servers, and nothing that a terminal obeys."""

import os
import resource

import click
import pytest
from sqlalchemy import text

from authsite.platform.command_line.results import cell, private_file, whole_private_file
from authsite.platform.command_line.shared import print_facts, print_table, transaction
from tests.support.home import initialized

HOSTILE = [
    "550 [/x] not here",
    "[link=https://evil.example]click[/link]",
    "[red]all is lost[/red]",
    "\\[bold]",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_l12_markup_is_text(capsys, text):
    print_table(("name", "error"), [("a", text)], empty="")
    print_facts("Title", {"name": text})
    assert capsys.readouterr().out.count(text) == 2


@pytest.mark.parametrize(
    "text", ["\x1b]8;;https://evil.example\x07", "\x1b[2J", "a\r\nb", "\u202e"]
)
def test_l12_control_sequences_are_shown_and_not_obeyed(capsys, text):
    print_table(("name", "error"), [("a", f"x{text}y")], empty="")
    print_facts("Title", {"name": f"x{text}y"})
    shown = capsys.readouterr().out
    assert text not in shown
    assert shown.count(f"x{text.encode('unicode_escape').decode()}y") == 2


def test_a_file_is_complete_or_as_before_and_no_prepared_link_is_followed(tmp_path):
    path, victim = tmp_path / "export.jsonl", tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / "export.jsonl.part").symlink_to(victim)
    with whole_private_file(path) as one, whole_private_file(path) as other:
        one.write("first")
        other.write("second")
        assert not path.exists()
    assert path.read_text() == "first"
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(TypeError), whole_private_file(path) as file:
        file.write(None)
    assert path.read_text() == "first"
    assert victim.read_text() == "kept"
    names = {each.name for each in tmp_path.iterdir()}
    assert names == {"export.jsonl", "export.jsonl.part", "victim"}
    with pytest.raises(click.ClickException, match="No such file"):
        whole_private_file(tmp_path / "none" / "export.jsonl").__enter__()


def test_a_report_is_no_link_and_no_file_of_another_user(tmp_path):
    victim = tmp_path / "victim"
    for link, target in (("link", victim), ("dangling", tmp_path / "none")):
        (tmp_path / link).symlink_to(target)
        victim.write_text("kept")
        victim.chmod(0o600)
        with pytest.raises(click.ClickException, match="symbolic link: name a new file"):
            private_file(tmp_path / link).__enter__()
    if os.geteuid() == 0:
        os.chown(victim, 65534, 65534)
        with pytest.raises(click.ClickException, match="another user: name a new file"):
            private_file(victim).__enter__()
    assert victim.read_text() == "kept"
    assert not (tmp_path / "none").exists()
    with private_file(tmp_path / "own") as file:
        file.write("longer than the next one")
    with private_file(tmp_path / "own") as file:
        file.write("short")
    assert (tmp_path / "own").read_text() == "short"


@pytest.mark.parametrize("opened", [private_file, whole_private_file])
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path, opened):
    path = tmp_path / "out"
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, most))
    try:
        with pytest.raises(click.ClickException, match=r"out: .*space"), opened(path) as file:
            file.write("x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, most))
    assert [each.name for each in tmp_path.iterdir()] in ([], ["out"])


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)  # SQLite has no such limit
def test_a_command_may_take_longer_than_a_request(site):
    with transaction(site.cfg) as ctx:
        for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
            assert ctx.db.scalars(text(f"SELECT current_setting('{limit}')")).one() == "0"


def test_a_taken_address_is_explained_to_the_operator_and_not_to_the_person(tmp_path):
    """The texts of the services speak to a person in front of a browser."""
    home = initialized(tmp_path)
    create = ("user", "create", "--email", "ann@example.com", "--password-stdin")
    home.run(*create, stdin="purple wolf 77 tea\n")
    refused = home.run(*create, stdin="purple wolf 77 tea\n", status=1).stderr
    assert "another user has this address" in refused
    assert "Sign in" not in refused
    assert "no password was given" in home.run(*create, stdin="\n", status=1).stderr


def test_values_for_people_are_words():
    values = (True, False, None, "", [], ["password", "refresh_token"], 2)
    assert [cell(each) for each in values] == [
        *("yes", "no", "–", "–", "–", "password refresh_token", "2")
    ]
