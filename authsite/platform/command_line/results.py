"""What a command prints: its result, for people, or with ``--json`` for scripts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Protocol

import click

from .shared import config_option, json_option, print_facts, print_json, print_more, print_table

Data = Mapping[str, object]


class Result(Protocol):
    """What a command returns: ``data`` is its JSON, `show` prints it for people."""

    @property
    def data(self) -> Data: ...

    def show(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Done:
    """A sentence about what was done."""

    text: str
    data: Data

    def show(self) -> None:
        """Print the sentence."""
        click.echo(self.text)


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values below a title, and perhaps a ``note``."""

    title: str
    data: Data
    shown: Data | None = None  # if other values than those of ``data`` are for people
    note: str | None = None

    def show(self) -> None:
        """Print aligned lines."""
        facts = self.data if self.shown is None else self.shown
        print_facts(self.title, {name: cell(value) for name, value in facts.items()})
        if self.note:
            click.echo(self.note)


@dataclass(frozen=True, slots=True)
class Listing:
    """Some of ``total`` rows. ``columns``: names of values by heading. ``empty``: without rows."""

    name: str
    rows: Sequence[Data]
    total: int
    columns: Mapping[str, str]
    empty: str

    @property
    def data(self) -> Data:
        """The rows, and the number of all."""
        return {self.name: self.rows, "total": self.total}

    def show(self) -> None:
        """Print a table."""
        rows = [[cell(row[name]) for name in self.columns.values()] for row in self.rows]
        print_table(tuple(self.columns), rows, empty=self.empty)
        print_more(self.total - len(rows))


def cell(value: object) -> str:
    """A value for people: ``yes``, ``no``, ``–`` for none, the words of a list, or its text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return " ".join(map(str, value)) or "–"
    return "–" if value in (None, "") else str(value)


def result_command(command: Callable[..., Result]) -> Callable[..., None]:
    """Add ``--json`` and ``--config INI``, and print what ``command`` returns.

    ``command`` gets the settings as ``cfg``.
    """

    @json_option
    @config_option
    @wraps(command)
    def printing(as_json: bool, **arguments: object) -> None:
        result = command(**arguments)
        if as_json:
            print_json(result.data)
        else:
            result.show()

    return printing
