"""What commands print: the words of users and servers, and nothing that a terminal obeys."""

import click
import pytest
from sqlalchemy import text

from authsite.cli.private_output import whole_private_file
from authsite.cli.shared import print_facts, print_table, transaction

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


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)  # SQLite has no such limit
def test_a_command_may_take_longer_than_a_request(site):
    with transaction(site.cfg) as ctx:
        for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
            assert ctx.db.scalars(text(f"SELECT current_setting('{limit}')")).one() == "0"
