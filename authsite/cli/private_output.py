"""Files with personal data or hashes, which only their owner may read (OWASP ASVS 13.3.1)."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click

from authsite.settings.private_files import exposed


@contextmanager
def private_file(path: Path) -> Iterator[TextIO]:
    """``path``, opened for writing, with the mode 0600.

    Raises `click.ClickException` for a file that others may read, since its mode is its owner's
    decision, and for one that cannot be written.
    """
    if advice := exposed(path):
        raise click.ClickException(f"{path}: {advice}")
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        yield file


@contextmanager
def whole_private_file(path: Path) -> Iterator[TextIO]:
    """`private_file` under another name, which becomes ``path`` when all is written."""
    if advice := exposed(path):
        raise click.ClickException(f"{path}: {advice}")
    part = path.with_name(f"{path.name}.part")
    try:
        with private_file(part) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def private_output() -> TextIO:
    """The standard output. Raises `click.ClickException` if it is a file that others may read."""
    try:
        status = os.fstat(sys.stdout.fileno())
    except OSError:  # replaced by a stream that is no file
        return sys.stdout
    if stat.S_ISREG(status.st_mode) and status.st_mode & 0o077:
        raise click.ClickException(
            "others may read the file that the output goes to: give --output FILE, or run "
            "umask 077  first"
        )
    return sys.stdout
