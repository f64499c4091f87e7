"""What a command prints: its result, for people, or with ``--json`` for scripts."""

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from tempfile import mkstemp
from typing import Protocol, TextIO

import click

from authsite.platform.settings.files import exposed

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


# Files with personal data or hashes, which only their owner may read (OWASP ASVS 13.3.1).


@contextmanager
def private_file(path: Path) -> Iterator[TextIO]:
    """``path``, opened for writing, with the mode 0600.

    Raises `click.ClickException` for a file that others may read, since its mode is its owner's
    decision, for a file of another user, for a symbolic link, and for one that cannot be written.
    """
    if path.is_symlink():
        raise click.ClickException(f"{path} is a symbolic link: name a new file")
    with _writable(path):
        descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            if os.fstat(descriptor).st_uid != os.geteuid():
                raise click.ClickException(f"{path} belongs to another user: name a new file")
            file.truncate()
            yield file


@contextmanager
def whole_private_file(path: Path) -> Iterator[TextIO]:
    """A new file with the mode 0600, which becomes ``path`` when all is written.

    Its name is not known before, so that no file or symbolic link of another user is written to.
    Raises `click.ClickException` for a file that others may read, and one that cannot be written.
    """
    with _writable(path):
        descriptor, name = mkstemp(prefix=f".{path.name[:99]}.", suffix=".part", dir=path.parent)
        part = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    """Refuse a file that others may read; make operating system errors `click.ClickException`."""
    if advice := exposed(path):
        raise click.ClickException(f"{path}: {advice}")
    try:
        yield
    except BrokenPipeError:  # of the standard output or its errors, whose reader has ended
        raise
    except OSError as error:
        raise click.ClickException(
            f"{path}: {error.strerror}. Name a file in a folder that exists and that this user may "
            "write to, on a disk that has space"
        ) from None


def refuse_overwriting(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Raise `click.ClickException` if one of ``outputs`` is another one, or among ``inputs``."""
    others = [path for path in inputs if path]
    for path in filter(None, outputs):
        if any(_same_file(path, other) for other in others):
            raise click.ClickException(f"{path} is another file of this command: name a new one")
        others.append(path)


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist
        return one.resolve() == other.resolve()


def private_output() -> TextIO:
    """The standard output. Raises `click.ClickException` if it is a file that others may read."""
    try:
        status = os.fstat(sys.stdout.fileno())
    except OSError:  # replaced by a stream that is not a file
        return sys.stdout
    if stat.S_ISREG(status.st_mode) and status.st_mode & 0o077:
        raise click.ClickException(
            "others may read the file that the output goes to: give --output FILE, or run "
            "umask 077  first"
        )
    return sys.stdout
