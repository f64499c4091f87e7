"""What commands print: the words of users and servers, and nothing that a terminal obeys."""

import pytest

from authsite.cli.shared import print_facts, print_table

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
