"""``authsite init``: from nothing to something that can be served."""

import os
import secrets
from pathlib import Path

import click

from authsite.settings import Settings, SettingsError, env_file_path, environment, load, read_ini

from .db import upgrade_schema
from .shared import config_path, source, transaction


@click.command()
@click.option("--config", metavar="INI", help="Default: $AUTHSITE_CONFIG or development.ini.")
def init(config: str | None) -> None:
    """Make the schema, and an environment file with a secret and the web client.

    Safe to run again: what is there is kept.
    """
    revision = prepare(config)
    click.echo(
        f"The schema is at revision {revision}; secrets are in {env_file_path(environment())}."
    )


def prepare(config: str | None) -> str | None:
    """Make what is missing; the revision of the schema."""
    path = env_file_path(environment())
    try:
        ini = read_ini(config_path(config))
        _add(path, _missing_secret(ini))
        cfg = load(ini, environment())
    except SettingsError as error:
        raise click.ClickException(str(error)) from None
    revision = upgrade_schema(cfg)
    _add(path, _missing_web_client(cfg))
    return revision


def _missing_secret(ini: dict[str, str]) -> dict[str, str]:
    known = {name.lower().replace("-", "_") for name in ini}
    given = environment()
    if "authsite.secret" in known or {"AUTHSITE_SECRET", "AUTHSITE_SECRET_FILE"} & given.keys():
        return {}
    return {"AUTHSITE_SECRET": secrets.token_urlsafe(48)}


def _missing_web_client(cfg: Settings) -> dict[str, str]:
    from authsite import clock
    from authsite.oauth import clients

    if "web" in cfg.clients:
        return {}
    with transaction(cfg) as db:
        client, secret = clients.create(db, clock.now(), source(), "web", "password")
    return {"CLIENT_WEB_ID": str(client.id), "CLIENT_WEB_SECRET": secret}


def _add(path: Path, variables: dict[str, str]) -> None:
    """Append to the environment file, which only its owner may read."""
    if not variables:
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.fchmod(descriptor, 0o600)
    with os.fdopen(descriptor, "a") as file:
        if path.read_bytes()[-1:] not in (b"", b"\n"):
            file.write("\n")  # somebody's last line has no end
        file.writelines(f"{name}={value}\n" for name, value in variables.items())
