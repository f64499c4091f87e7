"""What ``authsite init`` does to the environment file and the database: all of it, or nothing."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import click

from authsite.platform.command_line.shared import transaction
from authsite.platform.runtime.ids import as_client_id
from authsite.platform.settings import (
    Settings,
    environment,
    folder_of,
    load,
    new_sealing_key,
    new_secret,
)

from .db import upgrade_schema
from .envwriter import Write, editing

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from authsite.platform.context import Context

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
        from authsite.oauth import clients
        from authsite.platform.installation.fingerprints import SECRET, check_and_record, recorded

        revision = upgrade_schema(self.cfg, check=self.check).revision
        with transaction(self.cfg) as ctx:
            clients.wait_for_others(ctx.db)
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
        from authsite.oauth import clients

        notes = []
        for name, configured in self.cfg.clients.items():
            id_ = as_client_id(configured.id)
            if id_ is None or _has_client(ctx.db.connection(), configured.id):
                continue
            clients.create_again(ctx, name, id_, configured.secret.reveal())
            notes.append(
                f"The database did not have the client `{name}` ({configured.id}): it was made "
                f"with the id and the secret of the settings."
            )
        ctx.db.flush()
        return notes

    def web_client(self, ctx: "Context") -> dict[str, str]:
        """Create the client ``web`` if the settings have none; its variables."""
        from authsite.oauth import clients

        if WEB in self.cfg.clients:
            return {}
        client, secret = clients.create(ctx, WEB, "password")
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
