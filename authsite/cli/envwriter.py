"""Writes the environment file, which `authsite.settings.envfile` reads."""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from authsite.settings import assignment

Append = Callable[[Mapping[str, str]], None]


@contextmanager
def appending(path: Path) -> Iterator[Append]:
    """Lock the environment file at ``path``; gives a function that appends variables to it.

    Creates the file if it does not exist; only its owner can read it. Another process that locks
    the same file waits until the block ends. Raises `click.ClickException` if the file cannot be
    written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise click.ClickException(
            f"the environment file {path} cannot be written ({error.strerror}): let this user "
            "write it, or name another one in AUTHSITE_ENV_FILE"
        ) from None
    with os.fdopen(descriptor, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        def append(variables: Mapping[str, str]) -> None:
            os.fchmod(descriptor, 0o600)
            if path.read_bytes()[-1:] not in (b"", b"\n"):
                file.write("\n")  # the last line of the file has no line end
            file.writelines(f"{assignment(*each)}\n" for each in variables.items())
            file.flush()
            os.fsync(descriptor)

        yield append
