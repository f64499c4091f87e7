"""``authsite init``: creates what a start needs: schema, secret, sealing key and web client.

With ``--production`` first production.ini and the environment file beside it.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import click

from authsite.platform.command_line.shared import (
    config_path,
    examples,
    ini_option,
    json_option,
    print_json,
    transaction,
)
from authsite.platform.runtime.ids import as_client_id
from authsite.platform.settings import (
    DEFINITIONS,
    InvalidSetting,
    Settings,
    SettingsError,
    documented_key,
    environment,
    folder_of,
    load,
    new_sealing_key,
    new_secret,
    read_ini,
)
from authsite.platform.settings.sources import BESIDE_INI, env_file_path, read_sources

from .db import upgrade_schema
from .files import (
    WHO_MAY_REGISTER,
    Write,
    choose_registration,
    editing,
    production_ini,
    read_registration,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from authsite.platform.context import Context


# What ``authsite init`` does to the environment file and the database: all of it, or nothing.


WEB = "web"
SEALING_KEY = "AUTHSITE_SEALING_KEY"
# For an installation that is in use already.
ADDED = (
    "AUTHSITE_SEALING_KEY was added to {path}. Copy this line to every other machine, restart "
    "authsite on each of them and here, and keep a copy of it apart from the database."
)


class Installed(NamedTuple):
    """The revision of the schema, the environment file, and sentences on what is unexpected.

    ``env_file``: None if there is none, since the settings come from variables and the ini.
    """

    revision: str | None
    env_file: Path | None
    notes: tuple[str, ...]


def install(
    ini: Mapping[str, str], path: Path, variables: Mapping[str, str] = MappingProxyType({})
) -> Installed:
    """Create what is missing: schema, secret, sealing key, and the clients of the settings.

    ``path``: of the environment file, to which ``variables`` are added, too. All is checked before
    anything is written, and the environment file is written before the database is committed.

    Raises `SettingsError` for invalid settings, and `click.ClickException` if the environment file
    cannot be written, if the database cannot be used, knows another secret or sealing key, or has
    another client ``web``.
    """
    present = environment(folder_of(ini))
    if has_secret(ini, present) and variables.keys() <= present.keys():
        cfg = load(ini, present)
        if WEB in cfg.clients and _has_sealing_key(
            cfg
        ):  # nothing has to be written: the file may be read-only
            return _Installation(cfg, path, {}, None).run()
    with editing(path) as write:
        present = environment(folder_of(ini))
        missing = {name: value for name, value in variables.items() if name not in present}
        if not has_secret(ini, present):
            missing["AUTHSITE_SECRET"] = new_secret()
        cfg = load(ini, present | missing)
        if not _has_sealing_key(cfg):
            missing[SEALING_KEY] = new_sealing_key()
            cfg = load(ini, present | missing)
        return _Installation(cfg, path, missing, write).run()


def has_secret(ini: Mapping[str, str], variables: Mapping[str, str]) -> bool:
    """Whether the settings have a secret."""
    keys = {name.lower().replace("-", "_") for name in ini}
    names = {"AUTHSITE_SECRET", "AUTHSITE_SECRET_FILE"}
    return "authsite.secret" in keys or not names.isdisjoint(variables)


def _has_sealing_key(cfg: Settings) -> bool:
    return bool(cfg.sealing_key or cfg.sealing_key_next)


class _Installation(NamedTuple):
    """``missing``: what the environment file has to get; ``write`` is None if that is nothing."""

    cfg: Settings
    path: Path
    missing: dict[str, str]
    write: Write | None

    def run(self) -> Installed:
        from authsite.oauth.clients import service
        from authsite.platform.installation.fingerprints import SECRET, check_and_record, recorded

        revision = upgrade_schema(self.cfg, check=self.check).revision
        with transaction(self.cfg) as ctx:
            service.wait_for_others(ctx.db)
            self.check(ctx.db.connection())  # another process may have been faster
            in_use = recorded(ctx.db.connection(), SECRET) is not None
            check_and_record(ctx.db.connection(), self.cfg)
            notes = self.clients_made_again(ctx)
            if in_use and SEALING_KEY in self.missing:
                notes.append(ADDED.format(path=self.path))
            missing = self.missing | self.web_client(ctx)
            if self.write and missing:
                # Before the commit: if the file cannot be written, nothing is recorded.
                self.write(missing)
        return Installed(revision, self.path if self.path.exists() else None, tuple(notes))

    def check(self, connection: "Connection") -> None:
        """Raise `click.ClickException` if the database belongs to other values than these."""
        from authsite.platform.installation.fingerprints import SECRET, OtherSecret, check, recorded

        web = _web_in(connection)
        if "AUTHSITE_SECRET" in self.missing and recorded(connection, SECRET) is not None:
            raise click.ClickException(_missing(web, self.path, secret_too=True))
        # A new sealing key is for a database that knows none.
        cfg = replace(self.cfg, sealing_key=()) if SEALING_KEY in self.missing else self.cfg
        try:
            check(connection, cfg)
        except OtherSecret as error:
            raise click.ClickException(str(error)) from None
        if web is None:
            return
        ours = self.cfg.clients.get(WEB)
        if ours is None:
            raise click.ClickException(_missing(web, self.path, secret_too=False))
        if not _has_client(connection, ours.id):
            raise click.ClickException(
                f"the database has another client `web` ({web}) than CLIENT_WEB_ID ({ours.id}). "
                + _missing(web, self.path, secret_too=False)
            )

    def clients_made_again(self, ctx: "Context") -> list[str]:
        """Create the clients of the settings that the database does not have."""
        from authsite.oauth.clients import service

        notes = []
        for name, configured in self.cfg.clients.items():
            id_ = as_client_id(configured.id)
            if id_ is None or _has_client(ctx.db.connection(), configured.id):
                continue
            service.create_again(ctx, name, id_, configured.secret.reveal())
            notes.append(
                f"The database did not have the client `{name}` ({configured.id}): it was made "
                f"with the id and the secret of the settings."
            )
        ctx.db.flush()
        return notes

    def web_client(self, ctx: "Context") -> dict[str, str]:
        """Create the client ``web`` if the settings have none; its variables."""
        from authsite.oauth.clients import service

        if WEB in self.cfg.clients:
            return {}
        client, secret = service.create(ctx, WEB, "password")
        ctx.db.flush()
        return {"CLIENT_WEB_ID": str(client.id), "CLIENT_WEB_SECRET": secret or ""}


def _web_in(connection: "Connection") -> str | None:
    """The id of the first client ``web`` of the database; None without one."""
    from sqlalchemy import select

    from authsite.oauth.models import Client

    found = connection.scalar(
        select(Client.id)
        .where(Client.name == WEB, Client.type == "password")
        .order_by(Client.created_at)
        .limit(1)
    )
    return str(found) if found else None


def _has_client(connection: "Connection", client_id: str) -> bool:
    from sqlalchemy import select

    from authsite.oauth.models import Client

    found = select(Client.id).where(Client.id == as_client_id(client_id))
    return connection.scalar(found) is not None


def _missing(web: str | None, path: Path, *, secret_too: bool) -> str:
    names = ["AUTHSITE_SECRET"] if secret_too else []
    names += ["CLIENT_WEB_ID", "CLIENT_WEB_SECRET"] if web else []
    has = ["knows a secret"] if secret_too else []
    has += [f"has the client `web` ({web})"] if web else []
    lost = [
        "put the output of `authsite secret new` there as AUTHSITE_SECRET and run `authsite secret "
        "accept` (all tokens and mailed links end)"
    ] * secret_too
    lost += [
        f"run `authsite client rotate-secret {web}` and put the id and the secret that it prints "
        "there as CLIENT_WEB_ID and CLIENT_WEB_SECRET"
    ] * bool(web)
    return (
        f"the database already {' and '.join(has)}, but {', '.join(names)} are not set here, or "
        f"are others. Copy the environment file of the machine that has them to {path} "
        f"(AUTHSITE_SECRET has to be the same on every machine, too). If they are lost, "
        f"{'; then '.join(lost)}."
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
