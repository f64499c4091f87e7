"""The production.ini that ``authsite init --production`` writes, with who may register."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from authsite.platform.runtime import package
from authsite.platform.settings import SourceValue, documented_key
from authsite.platform.settings.domains import domains

from .envwriter import remove

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
