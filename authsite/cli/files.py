"""Writes the environment file, which `authsite.platform.settings.sources` reads."""

import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from authsite.platform.runtime import package
from authsite.platform.settings import SourceValue, documented_key
from authsite.platform.settings.sources import assignment
from authsite.platform.settings.values import domains

GROUP_READS = 0o640  # a mode that stays; every other one becomes 0600
Write = Callable[[Mapping[str, str | None]], None]


@contextmanager
def editing(path: Path) -> Iterator[Write]:
    """Lock the environment file at ``path``; gives a function that sets variables in it.

    The function replaces the line of a variable, appends one for a new variable, and removes those
    of a variable whose value is None; all other lines stay. It replaces the file as a whole: a
    reader finds the old file or the new one. The file is created if it does not exist; then only
    its owner can read it, and it is removed if the block ends without having set anything. Another
    process that locks it waits until the block ends. Raises `click.ClickException` if the file
    cannot be written.
    """
    path = path.resolve()
    new = [each for each in (path, *path.parents) if not each.exists()]
    with _errors(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptors = [_locked(path)]

    def write(variables: Mapping[str, str | None]) -> None:
        with _errors(path):
            descriptors.append(_replace(path, _edited(path.read_text(encoding="utf-8"), variables)))

    try:
        yield write
    finally:
        if len(descriptors) == 1:
            with suppress(OSError):  # another process has written it, and its own file is there
                if path.stat().st_size == 0:
                    remove(new)
        for descriptor in descriptors:
            os.close(descriptor)


def remove(paths: Iterable[Path]) -> None:
    """Remove files and empty folders, in this order, up to the first that cannot be removed."""
    with suppress(OSError):
        for path in paths:
            path.rmdir() if path.is_dir() else path.unlink()


def _locked(path: Path) -> int:
    """A descriptor of the file that is at ``path`` once this process has the lock."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)  # another process has replaced the file


def _replace(path: Path, text: str) -> int:
    """Write ``text`` to a new file and move it to ``path``; a descriptor that has its lock."""
    before = path.stat()
    descriptor, new = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(text.encode())  # all of it: os.write may write a part
        if stat.S_IMODE(before.st_mode) == GROUP_READS:
            os.fchmod(descriptor, GROUP_READS)
        if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
            os.fchown(descriptor, before.st_uid, before.st_gid)
        os.fsync(descriptor)
        os.replace(new, path)
    except BaseException:
        os.close(descriptor)
        os.unlink(new)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    return descriptor


def _edited(text: str, variables: Mapping[str, str | None]) -> str:
    lines, left = [], dict(variables)
    # Not splitlines(): it also splits at characters that values may have.
    before = text.removesuffix("\n").split("\n") if text else []
    # From the end: of several lines for a variable the last one counts.
    for line in reversed(before):
        match = re.match(r"\s*(export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=", line)
        if match is None or match[2] not in variables:
            lines.append(line)
        elif (value := left.pop(match[2], None)) is not None:
            lines.append((match[1] or "") + assignment(match[2], value))
    new = [assignment(name, value) for name, value in left.items() if value is not None]
    return "".join(f"{line}\n" for line in [*reversed(lines), *new])


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise click.ClickException(
            f"the environment file {path} cannot be written ({error.strerror}): let this user "
            "write it and its folder, or name another file in AUTHSITE_ENV_FILE"
        ) from None


# The production.ini that ``authsite init --production`` writes, with who may register.


PRODUCTION_INI = "production.ini"
WHO_MAY_REGISTER = (
    "AUTHSITE_REGISTRATION says who may register: on (everyone), off, invite, or domains with"
    " AUTHSITE_REGISTRATION_DOMAINS=corp.example. The option --registration writes it to the ini."
)


def read_registration(
    _ctx: click.Context, _option: click.Parameter, text: str | None
) -> Mapping[str, str]:
    """The settings that ``on``, ``off``, ``invite`` or ``domains=corp.example,…`` stands for.

    As text, by attribute of `Settings`; none without the option. Raises `click.BadParameter`.
    """
    if text is None:
        return {}
    word, equals, listed = text.partition("=")
    if word in ("on", "off", "invite") and not equals:
        return {"registration": word}
    try:
        found = domains(listed.replace(",", " ")) if word == "domains" else ()
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if not found:
        raise click.BadParameter("give on, off, invite, or domains=corp.example,other.example")
    return {"registration": "domains", "registration_domains": " ".join(found)}


@contextmanager
def production_ini(folder: Path) -> Iterator[Path]:
    """The path of production.ini in ``folder``, which is written unless it is there.

    If the block fails, the file is as before: it is removed again, with a folder that was made for
    it, or gets its former text. Raises `click.ClickException` if it cannot be written.
    """
    path = folder / PRODUCTION_INI
    new = [each for each in (path, *path.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(path, "x", encoding="utf-8", opener=_private) as file:
            file.write(_packaged_ini().read_text(encoding="utf-8"))
    except FileExistsError:
        new = []
    except OSError as error:
        raise click.ClickException(
            f"{error.filename} cannot be written ({error.strerror}): name a folder that this user "
            "may write to with --folder"
        ) from None
    before = path.read_text(encoding="utf-8")
    try:
        yield path
    except BaseException:
        if new:
            remove(new)
        elif path.read_text(encoding="utf-8") != before:
            path.write_text(before, encoding="utf-8")
        raise


def choose_registration(
    ini: Path, chosen: Mapping[str, str], found: Mapping[str, SourceValue]
) -> None:
    """Write the ``chosen`` settings into ``ini``, each to the place of its comment.

    ``found``: the values that are set already. Raises `click.ClickException` for another value.
    """
    text = before = ini.read_text(encoding="utf-8")
    for name, value in chosen.items():
        key = documented_key(name)
        if present := found.get(name):
            if set(present.text.lower().split()) != set(value.split()):
                raise click.ClickException(
                    f"{key} has another value already, from {present.source}: change it there, or "
                    "leave --registration out"
                )
            continue
        line = f"{key} = {value}"
        text, count = re.subn(rf"(?m)^# *{re.escape(key)} *=.*$", line, text, count=1)
        if not count:
            text = re.sub(r"(?m)^\[app:main\].*$", rf"\g<0>\n{line}", text, count=1)
    if text != before:
        ini.write_text(text, encoding="utf-8")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _packaged_ini() -> Path:
    """The production.ini that comes with authsite: in the package, or beside it in a checkout."""
    here = package.FOLDER
    beside = here.parent / PRODUCTION_INI
    return beside if (here.parent / "setup.py").exists() else here / PRODUCTION_INI
