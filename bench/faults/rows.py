"""The rows of the table in docs/reliability.md."""

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"
HEAD = "| run | what was done | target | measured | |\n|---|---|---|---|---|\n"


class Row(NamedTuple):
    """One figure beside its target. ``run`` is the id of the run, such as R4."""

    run: str
    done: str
    target: str
    figure: str
    met: bool

    def line(self):
        """The row, as Markdown."""
        return f"| {self.run} | {self.done} | {self.target} | {self.figure} | {self.word} |"

    @property
    def word(self):
        """Whether the target was met."""
        return "met" if self.met else "**missed**"


def limit(run, done, what, most, value, unit="ms"):
    """The row of a ``value`` that may be at most ``most``; ``what`` names it."""
    shown = f"{value:,.0f}" if unit == "ms" or isinstance(value, int) else f"{value:.1f}"
    return Row(run, done, f"{what} ≤ {most:g} {unit}".strip(), f"{shown} {unit}".strip(),
               value <= most)  # fmt: skip


def none(run, done, what, found):
    """The row of something that must not occur; ``found``: how often, or what was found."""
    count = found if isinstance(found, int) else len(found)
    figure = str(count) if isinstance(found, int) or not found else f"{count}: {_short(found)}"
    return Row(run, done, f"0 {what}", figure, not count)


def write(rows, page=PAGE):
    """Put ``rows`` into the table of the page, instead of the rows of the same runs."""
    text = page.read_text()
    before, _, rest = text.partition(BEGIN)
    table, _, after = rest.partition(END)
    runs = {row.run for row in rows}
    others = [
        line for line in table.splitlines()[3:] if line.strip() and _run_of(line) not in runs
    ]  # without the rest of the marker's line, and the head
    lines = sorted([*others, *(row.line() for row in rows)], key=lambda line: _order(_run_of(line)))
    made = "".join(f"{line}\n" for line in lines)
    page.write_text(f"{before}{BEGIN}\n{HEAD}{made}{END}{after}")


def _run_of(line):
    return line.split("|")[1].strip()


def _order(run):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", run)]


def _short(found):
    return "; ".join(map(str, found[:3])).replace("|", "/")[:160]
