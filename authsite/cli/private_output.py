"""Files with personal data or hashes, which only their owner may read (OWASP ASVS 13.3.1)."""

import os
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
