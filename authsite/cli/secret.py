"""``authsite secret new``, ``rotate``, ``retire`` and ``accept``"""

from typing import TYPE_CHECKING

import click

from authsite.settings import Settings, new_secret

from .shared import config_option, examples, ini_option, json_option, print_json, transaction

if TYPE_CHECKING:
    from .rotation import Rotated, Rotation

_pepper_option = click.option(
    "--pepper",
    is_flag=True,
    help="AUTHSITE_PASSWORD_PEPPER instead of AUTHSITE_SECRET.",
)

# What to do after each step.
NEXT = {
    "announced": "The new one is accepted and not used yet. Copy {file} to all other machines and "
    "reload authsite on each of them and here (systemctl reload authsite). Then use it:\n"
    "  authsite secret rotate --finish{options}",
    "rotated": "The new one is used, the old ones are accepted. Copy {file} to all other machines "
    "and reload authsite on each of them and here (systemctl reload authsite). Later remove the "
    "oldest; the command refuses as long as something needs it:\n"
    "  authsite secret retire{options}",
    "retired": "It is removed. Copy {file} to all other machines and reload authsite "
    "on each of them and here (systemctl reload authsite).",
}


@click.group()
def secret() -> None:
    """Make and rotate secrets."""


@secret.command(epilog=examples("authsite secret new"))
@click.option(
    "--config", metavar="INI", expose_value=False, help="As every command; it reads no settings."
)
@json_option
def new(as_json: bool) -> None:
    """Print a new secret for authsite.secret.

    It is 48 random bytes in base64url.
    """
    made = new_secret()
    if as_json:
        return print_json({"secret": made})
    click.echo(made)


@secret.command(
    epilog=examples(
        "authsite secret rotate --config production.ini",
        "authsite secret rotate --finish --config production.ini",
    )
)
@ini_option
@_pepper_option
@click.option("--finish", is_flag=True, help="The second step: use the new one.")
@click.option("--at-once", is_flag=True, help="Both steps: use a new one from the next reload on.")
@json_option
def rotate(config: str | None, pepper: bool, finish: bool, at_once: bool, as_json: bool) -> None:
    """Replace the secret without signing out any user.

    Without options it adds a new secret that is accepted and does not sign. Reload every process,
    run it with --finish, which makes the new secret the first, and reload them again. With
    --at-once one run does both: until all processes are reloaded, some reject what the others sign.
    """
    from . import rotation

    if finish and at_once:
        raise click.UsageError("--at-once does both steps: give it without --finish")
    done = rotation.rotate(config, _setting(pepper), finish=finish, at_once=at_once)
    _report(done, config, pepper, as_json)


@secret.command(
    epilog=examples(
        "authsite secret retire --config production.ini",
        "authsite secret retire --pepper --config production.ini",
    )
)
@ini_option
@_pepper_option
@click.option(
    "--force",
    is_flag=True,
    help="Remove all older ones, although tokens, links or passwords need them.",
)
@json_option
def retire(config: str | None, pepper: bool, force: bool, as_json: bool) -> None:
    """Remove the oldest secret.

    It refuses, and says why, as long as tokens, links or password hashes need it. If a secret has
    leaked, --force leaves only the first one, which `rotate --at-once` has made.
    """
    from . import rotation

    done = rotation.retire(config, _setting(pepper), force=force)
    _report(done, config, pepper, as_json)


@secret.command(epilog=examples("authsite secret accept --config production.ini"))
@json_option
@config_option
def accept(cfg: Settings, as_json: bool) -> None:
    """Let the database know the secret of these settings.

    For a database that was copied or restored, or whose secret is lost: `init`, `doctor` and
    `serve` refuse another secret than the one that the database knows. Tokens and links that were
    signed with that one are not accepted any more.
    """
    from authsite.audit.events import Event
    from authsite.audit.service import record
    from authsite.installation.secret import record as record_secret

    with transaction(cfg) as ctx:
        record_secret(ctx.db.connection(), cfg.secret[0])
        record(ctx, Event.SECRET_ACCEPTED)
    if as_json:
        return print_json({"accepted": True})
    click.echo("The database knows the secret of these settings now.")


def _setting(pepper: bool) -> "Rotated":
    return "password_pepper" if pepper else "secret"


def _report(done: "Rotation", config: str | None, pepper: bool, as_json: bool) -> None:
    if as_json:
        return print_json({"step": done.step, "env_file": str(done.env_file)})
    options = (" --pepper" if pepper else "") + (f" --config {config}" if config else "")
    click.echo(NEXT[done.step].format(file=done.env_file, options=options))
