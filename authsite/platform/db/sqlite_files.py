"""Copies of a SQLite database: made while it is in use, and put into its place."""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from authsite.platform.runtime import clock


class UnusableFile(RuntimeError):
    """A database that cannot be made, copied or replaced; the message says what to do."""


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Let one process at a time restore ``database``; raises `UnusableFile` for another one."""
    try:
        folder = os.open(database.parent, os.O_RDONLY)
    except OSError as error:
        raise UnusableFile(
            f"{database.parent}: {error.strerror}. Name a file in a folder that this user may read"
        ) from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise UnusableFile(f"another restore of {database} is running: wait for its end") from None
    finally:
        os.close(folder)


def copy(source: Path, target: Path) -> None:
    """Copy the database ``source``, which may be in use, to ``target``, with mode 0600.

    The copy is one state of the database, and neither readers nor writers wait. ``target`` appears,
    or replaces a file, when the copy is complete, checked and on the disk. Raises `UnusableFile`.
    """
    if source.exists() and target.exists() and target.samefile(source):
        raise UnusableFile(f"{target} is the database itself: choose another file")
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        _copy_pages(source, partial)
        _flush(partial)
        os.replace(partial, target)
        _flush(target.parent)
    except sqlite3.Error as error:
        raise UnusableFile(
            f"{source} could not be copied to {target}: {error}. Check that the first is a"
            " database, and that the disk of the second has space"
        ) from None
    except OSError as error:
        raise UnusableFile(
            f"{error.filename or target}: {error.strerror}. Name a file in a folder that exists and"
            " that this user may write to"
        ) from None
    finally:
        partial.unlink(missing_ok=True)


def replace(database: Path, prepared: Path) -> Path | None:
    """Rename ``prepared`` to ``database``; return the new path of the former database, if any.

    Raises `UnusableFile` while a process has the database open.
    """
    former = None
    if database.exists():
        _end_journal(database)
        former = database.with_name(f"{database.name}.{clock.now():%Y%m%dT%H%M%S.%f}")
        # Of a damaged database. SQLite would apply it to the new one.
        for end in ("-wal", "-shm"):
            journal = database.with_name(database.name + end)
            if journal.exists():
                journal.rename(former.with_name(former.name + end))
        os.link(database, former)
    os.replace(prepared, database)
    _flush(database.parent)
    return former


def _copy_pages(source: Path, target: Path) -> None:
    location = f"file:{quote(str(source.absolute()))}?mode=rw"
    if not os.access(source, os.W_OK):
        location = location.replace("mode=rw", "mode=ro")
    with (
        closing(sqlite3.connect(location, uri=True)) as original,
        closing(sqlite3.connect(target)) as made,
    ):
        # All pages in one step: of a copy in several, each write restarts it.
        original.backup(made)
        made.execute("PRAGMA journal_mode=DELETE")  # one file, without a journal beside it
        [(result, *_), *_rest] = made.execute("PRAGMA integrity_check").fetchall()
    if result != "ok":
        raise UnusableFile(f"{source} is damaged ({result}): use another backup")


def _end_journal(database: Path) -> None:
    """Write the journal of ``database`` back, which needs to be the only process that uses it."""
    try:
        with closing(sqlite3.connect(database, timeout=0)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.OperationalError as error:
        raise UnusableFile(
            f"{database} is in use ({error}): stop authsite on this machine, and try again"
        ) from None
    except sqlite3.DatabaseError:  # damaged: the reason for the restore
        return


def _flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
