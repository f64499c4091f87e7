"""``authsite init --production``: production.ini and the environment file beside it."""

import os
from collections.abc import Mapping
from pathlib import Path

import click

import authsite
from authsite.settings import (
    DEFINITIONS,
    InvalidSetting,
    SettingsError,
    documented_key,
    env_file_path,
    environment,
    read_ini,
    read_sources,
)
from authsite.settings.envfile import BESIDE_INI

from .envwriter import editing

NAME = "production.ini"
NEEDED = {"AUTHSITE_BASE_URL": "base_url", "AUTHSITE_DATABASE_URL": "database_url"}


def packaged_ini() -> Path:
    """The production.ini that comes with authsite: in the package, or beside it in a checkout."""
    package = Path(authsite.__file__).parent
    beside = package.parent / NAME
    return beside if (package.parent / "setup.py").exists() else package / NAME


def write_production(folder: Path, variables: Mapping[str, str]) -> tuple[Path, list[str]]:
    """Write production.ini into ``folder``, and ``variables`` into the environment file.

    What exists stays as it is. Returns the path of the ini, and the variables of `NEEDED` that have
    no value yet. Raises `SettingsError` for an invalid value, and `click.ClickException` for a
    value other than the existing one, or if a file cannot be written.
    """
    _check(variables)
    ini = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(ini, "x", encoding="utf-8", opener=_private) as file:
            file.write(packaged_ini().read_text(encoding="utf-8"))
    except FileExistsError:
        pass
    except OSError as error:
        raise click.ClickException(
            f"{error.filename} cannot be written ({error.strerror}): name a folder that this user "
            "may write to with --folder"
        ) from None
    with editing(_env_file(folder)) as write:
        present = environment(folder)
        for name, value in variables.items():
            if present.get(name, value) != value:
                source = "the environment" if name in os.environ else str(_env_file(folder))
                raise click.ClickException(
                    f"{name} has another value already, in {source}: change it there, or leave the "
                    "option out"
                )
        write({name: value for name, value in variables.items() if name not in present})
    found, _ = read_sources(read_ini(ini), environment(folder), folder)
    return ini, [variable for variable, name in NEEDED.items() if name not in found]


def _env_file(folder: Path) -> Path:
    """The path of the environment file for production.ini: beside it, unless one exists already."""
    path = env_file_path(os.environ, folder)
    if os.environ.get("AUTHSITE_ENV_FILE") or path.exists():
        return path
    return folder / BESIDE_INI


def _check(variables: Mapping[str, str]) -> None:
    errors = []
    for variable, value in variables.items():
        try:
            DEFINITIONS[NEEDED[variable]].parse(value)
        except ValueError as error:
            errors.append(InvalidSetting(documented_key(NEEDED[variable]), str(error)))
    if errors:
        raise SettingsError(errors)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
