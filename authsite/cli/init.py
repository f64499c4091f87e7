"""``authsite init``: creates what a start needs: schema, secret and web client.

With ``--production`` first production.ini and the environment file beside it.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import click

from authsite.settings import (
    DEFINITIONS,
    InvalidSetting,
    Settings,
    SettingsError,
    documented_key,
    environment,
    folder_of,
    load,
    new_secret,
    read_ini,
)
from authsite.settings.envfile import BESIDE_INI, env_file_path
from authsite.settings.sources import read_sources

from .db import upgrade_schema
from .envwriter import editing
from .production_ini import WHO_MAY_REGISTER, choose_registration, read_registration, write_new
from .shared import config_path, examples, ini_option, json_option, print_json, transaction

NEEDED = {
    "AUTHSITE_BASE_URL": "base_url",
    "AUTHSITE_DATABASE_URL": "database_url",
    "AUTHSITE_REGISTRATION": "registration",
}


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
    metavar="on|off|domains=D,…",
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
    """Create the schema, the secret and the web client.

    The secret and the client's credentials go to the environment file. Safe to run again: what
    exists stays as it is. With --production it first writes production.ini and the environment
    file beside it.
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
    revision, env_file = prepare(config)
    if as_json:
        return print_json({"revision": revision, "env_file": str(env_file)})
    click.echo(f"The schema is at revision {revision}; secrets are in {env_file}.")


def prepare(config: str | None) -> tuple[str | None, Path]:
    """Create what is missing. Returns the revision of the schema and the environment file's path.

    Raises `click.ClickException` if the settings are invalid, if a file cannot be written or the
    database cannot be used, or if the database has a client ``web`` that the settings do not have.
    """
    try:
        ini = read_ini(config_path(config))
        path = env_file_path(environment(folder_of(ini)), folder_of(ini))
        _add_secret(ini, path)
        cfg = load(ini, environment(folder_of(ini)))
        revision = upgrade_schema(cfg).revision
        _add_web_client(cfg, ini, path)
    except SettingsError as error:
        raise click.ClickException(str(error)) from None
    return revision, path


def _init_production(
    folder: Path, variables: dict[str, str], registration: Mapping[str, str], as_json: bool
) -> None:
    try:
        ini, missing = _write_production(folder, variables, registration)
    except SettingsError as error:
        raise click.ClickException(str(error)) from None
    env_file = env_file_path(environment(folder), folder)
    if missing:
        _add_secret(read_ini(ini), env_file)
        if as_json:
            return print_json({"ini": str(ini), "env_file": str(env_file), "missing": missing})
        who = f"{WHO_MAY_REGISTER}\n" if "AUTHSITE_REGISTRATION" in missing else ""
        click.echo(
            f"{ini} and {env_file} are written. Without a value: {', '.join(missing)}.\n{who}"
            f"Add a line NAME=value for each to {env_file}, then run\n"
            f"  authsite init --production --folder {folder}"
        )
        return
    revision, _ = prepare(str(ini))
    if as_json:
        return print_json({"ini": str(ini), "env_file": str(env_file), "revision": revision})
    click.echo(
        f"The schema is at revision {revision}; secrets are in {env_file}.\n"
        "Check the set-up, then serve:\n"
        f"  authsite doctor --config {ini}\n"
        f"  authsite serve --config {ini}"
    )


def _write_production(
    folder: Path, variables: Mapping[str, str], registration: Mapping[str, str]
) -> tuple[Path, list[str]]:
    """Write production.ini with ``registration``, and ``variables`` into the environment file.

    What exists stays as it is. Returns the path of the ini, and the variables of `NEEDED` that have
    no value yet. Raises `SettingsError` for an invalid value, and `click.ClickException` for a
    value other than the existing one, or if a file cannot be written.
    """
    _check_values(variables)
    ini = write_new(folder)
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
    choose_registration(ini, registration, found)
    known = {*found, *registration}
    return ini, [variable for variable, name in NEEDED.items() if name not in known]


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


def _add_secret(ini: dict[str, str], path: Path) -> None:
    if _has_secret(ini):
        return
    with editing(path) as write:
        if not _has_secret(ini):  # another process may have added one meanwhile
            write({"AUTHSITE_SECRET": new_secret()})


def _has_secret(ini: dict[str, str]) -> bool:
    keys = {name.lower().replace("-", "_") for name in ini}
    variables = environment(folder_of(ini)).keys()
    return "authsite.secret" in keys or bool(
        {"AUTHSITE_SECRET", "AUTHSITE_SECRET_FILE"} & variables
    )


def _add_web_client(cfg: Settings, ini: dict[str, str], path: Path) -> None:
    from authsite.oauth import clients

    if "web" in cfg.clients:
        return
    with editing(path) as write:
        if "web" in load(ini, environment(folder_of(ini))).clients:
            return  # another process has added it meanwhile
        with transaction(cfg) as ctx:
            client, secret = clients.create_once(ctx, "web", "password")
            if secret is None:
                raise click.ClickException(_credentials_missing(str(client.id), path))
            # Before the commit: if the file cannot be written, the client is not created.
            write({"CLIENT_WEB_ID": str(client.id), "CLIENT_WEB_SECRET": secret})


def _credentials_missing(client_id: str, path: Path) -> str:
    return (
        f"the database already has the client `web` ({client_id}), but CLIENT_WEB_ID and "
        f"CLIENT_WEB_SECRET are not set here. Copy the environment file of the machine that has "
        f"them to {path} (AUTHSITE_SECRET has to be the same on every machine, too). If they are "
        f"lost, run `authsite client rotate-secret {client_id}` and put the id and the secret "
        f"that it prints into {path} as CLIENT_WEB_ID and CLIENT_WEB_SECRET."
    )
