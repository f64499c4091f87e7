"""``authsite init``: creates what a start needs: schema, secret, sealing key and web client.

With ``--production`` first production.ini and the environment file beside it.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import click

from authsite.platform.command_line.shared import (
    config_path,
    examples,
    ini_option,
    json_option,
    print_json,
)
from authsite.platform.settings import (
    DEFINITIONS,
    InvalidSetting,
    SettingsError,
    documented_key,
    environment,
    folder_of,
    new_secret,
    read_ini,
)
from authsite.platform.settings.envfile import BESIDE_INI, env_file_path
from authsite.platform.settings.sources import read_sources

from .envwriter import editing
from .installing import Installed, has_secret, install
from .production_ini import (
    WHO_MAY_REGISTER,
    choose_registration,
    production_ini,
    read_registration,
)

NEEDED = {
    "AUTHSITE_BASE_URL": "base_url",
    "AUTHSITE_DATABASE_URL": "database_url",
    "AUTHSITE_REGISTRATION": "registration",
}


NO_FILE = "no environment file was written, since the secrets come from the environment or the ini"


@click.command(
    epilog=examples(
        "authsite init",
        "authsite init --production --folder /etc/authsite --base-url https://auth.example.org "
        "--registration off",
    )
)
@ini_option
@click.option("--production", is_flag=True, help="Write production.ini and authsite.env first.")
@click.option(
    "--folder",
    metavar="F",
    type=click.Path(file_okay=False, path_type=Path),
    help="With --production: where to write them. Default: the working directory.",
)
@click.option("--base-url", metavar="U", help="With --production: the value of AUTHSITE_BASE_URL.")
@click.option("--database-url", metavar="D", help="The same for AUTHSITE_DATABASE_URL.")
@click.option(
    "--registration",
    metavar="on|off|invite|domains=D,…",
    callback=read_registration,
    help="With --production: who may register. Needed, unless AUTHSITE_REGISTRATION is set.",
)
@json_option
def init(
    config: str | None,
    production: bool,
    folder: Path | None,
    registration: Mapping[str, str],
    as_json: bool,
    **urls: str | None,
) -> None:
    """Create the schema, the keys and the web client.

    The secret, the sealing key and the client's credentials go to the environment file. Safe to
    run again: what exists stays as it is, what is missing is added, and if it fails, nothing was
    written. With --production it first writes
    production.ini and the environment file beside it.
    """
    variables = {f"AUTHSITE_{name.upper()}": url for name, url in urls.items() if url is not None}
    if production and config:
        raise click.UsageError("--production writes its own ini: leave --config out")
    if not production and (folder or variables or registration):
        raise click.UsageError(
            "--folder, --base-url, --database-url and --registration need --production"
        )
    if production:
        return _init_production((folder or Path()).absolute(), variables, registration, as_json)
    installed = prepare(config)
    say(installed, as_json=as_json)
    if as_json:
        print_json({"revision": installed.revision, "env_file": _named(installed.env_file)})


def prepare(config: str | None) -> Installed:
    """`install` for the command line. Raises `click.ClickException`."""
    try:
        ini = read_ini(config_path(config))
        return install(ini, env_file_path(environment(folder_of(ini)), folder_of(ini)))
    except SettingsError as error:
        raise click.ClickException(str(error)) from None


def say(installed: Installed, *, as_json: bool = False) -> None:
    """Print what `prepare` has done; with ``as_json`` only what is unexpected, to stderr."""
    for note in installed.notes:
        click.echo(note, err=as_json)
    if not as_json:
        revision, env_file, _ = installed
        where = f"secrets are in {env_file}" if env_file else NO_FILE
        click.echo(f"The schema is at revision {revision}; {where}.")


def _init_production(
    folder: Path, variables: dict[str, str], registration: Mapping[str, str], as_json: bool
) -> None:
    try:
        _check_values(variables)
        with production_ini(folder) as path:
            found, _ = read_sources(read_ini(path), environment(folder) | variables, folder)
            choose_registration(path, registration, found)
            _fill(path, variables, as_json)
    except SettingsError as error:
        raise click.ClickException(str(error)) from None


def _fill(path: Path, variables: dict[str, str], as_json: bool) -> None:
    """Install with the ini at ``path``; or say which variables of `NEEDED` have no value yet."""
    folder, ini = path.parent, read_ini(path)
    env_file, present = _env_file(folder), environment(folder)
    for name, value in variables.items():
        if present.get(name, value) != value:
            source = "the environment" if name in os.environ else str(env_file)
            raise click.ClickException(
                f"{name} has another value already, in {source}: change it there, or leave the "
                "option out"
            )
    found, _ = read_sources(ini, present | variables, folder)
    if missing := [variable for variable, name in NEEDED.items() if name not in found]:
        return _leave(path, variables, missing, as_json)
    installed = install(ini, env_file, variables)
    say(installed, as_json=as_json)
    if as_json:
        file = _named(installed.env_file)
        values = {"ini": str(path), "env_file": file, "revision": installed.revision}
        return print_json(values)
    click.echo(
        "Check the set-up, then serve:\n"
        f"  authsite doctor --config {path}\n"
        f"  authsite serve --config {path}"
    )


def _leave(path: Path, variables: dict[str, str], missing: list[str], as_json: bool) -> None:
    """Write what is known, and say what is ``missing``."""
    folder, env_file = path.parent, _env_file(path.parent)
    with editing(env_file) as write:
        present = environment(folder)
        new = {} if has_secret(read_ini(path), present) else {"AUTHSITE_SECRET": new_secret()}
        write(new | {name: value for name, value in variables.items() if name not in present})
    if as_json:
        file = _named(env_file if env_file.exists() else None)
        return print_json({"ini": str(path), "env_file": file, "missing": missing})
    written = f"{path} and {env_file} are written" if env_file.exists() else f"{path} is written"
    who = f"{WHO_MAY_REGISTER}\n" if "AUTHSITE_REGISTRATION" in missing else ""
    click.echo(
        f"{written}. Without a value: {', '.join(missing)}.\n{who}"
        f"Add a line NAME=value for each to {env_file}, then run\n"
        f"  authsite init --production --folder {folder}"
    )


def _named(file: Path | None) -> str | None:
    return str(file) if file else None


def _env_file(folder: Path) -> Path:
    """The path of the environment file for production.ini: beside it, unless one exists already."""
    path = env_file_path(os.environ, folder)
    if os.environ.get("AUTHSITE_ENV_FILE") or path.exists():
        return path
    return folder / BESIDE_INI


def _check_values(variables: Mapping[str, str]) -> None:
    errors = []
    for variable, value in variables.items():
        try:
            DEFINITIONS[NEEDED[variable]].parse(value)
        except ValueError as error:
            errors.append(InvalidSetting(documented_key(NEEDED[variable]), str(error)))
    if errors:
        raise SettingsError(errors)
