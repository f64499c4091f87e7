"""Files with personal data or hashes, which only their owner may read (OWASP ASVS 13.3.1)."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from typing import TextIO

import click

from authsite.platform.settings.files import exposed


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
