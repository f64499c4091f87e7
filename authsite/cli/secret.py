"""``authsite secret new``, ``rotate``, ``reseal``, ``retire`` and ``accept``"""

from typing import TYPE_CHECKING, cast

import click

from authsite.platform.command_line.shared import (
    config_option,
    examples,
    ini_option,
    json_option,
    open_for,
    print_json,
    transaction,
)
from authsite.platform.settings import Settings, new_sealing_key, new_secret

if TYPE_CHECKING:
    from .rotation import Rotated, Rotation

# Both give the parameter `setting`, which is None without an option: the secret.
_pepper_option = click.option(
    "--pepper",
    "setting",
    flag_value="password_pepper",
    help="AUTHSITE_PASSWORD_PEPPER instead of AUTHSITE_SECRET.",
)
_sealing_key_option = click.option(
    "--sealing-key", "setting", flag_value="sealing_key", help="AUTHSITE_SEALING_KEY instead."
)

# What to do after each step.
NEXT = {
    "announced": "The new one is accepted and not used yet. Copy {file} to all other machines and "
    "reload authsite on each of them and here (systemctl reload authsite). Then use it:\n"
    "  authsite secret rotate --finish{options}",
    "rotated": "The new one is used, the old ones are accepted. Copy {file} to all other machines "
    "and reload authsite on each of them and here (systemctl reload authsite). Later remove the "
    "oldest; the command refuses as long as something needs it:\n"
    "{reseal}  authsite secret retire{options}",
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
@click.option("--sealing-key", is_flag=True, help="A key for authsite.sealing-key.")
@json_option
def new(sealing_key: bool, as_json: bool) -> None:
    """Print a new secret for authsite.secret.

    It is 48 random bytes in base64url; with --sealing-key 32 random bytes in hexadecimal, for
    authsite.sealing-key.
    """
    made = new_sealing_key() if sealing_key else new_secret()
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
@_sealing_key_option
@click.option("--finish", is_flag=True, help="The second step: use the new one.")
@click.option("--at-once", is_flag=True, help="Both steps: use a new one from the next reload on.")
@json_option
def rotate(
    config: str | None, setting: str | None, finish: bool, at_once: bool, as_json: bool
) -> None:
    """Replace the secret without signing out any user.

    Without options it adds a new secret that is accepted and does not sign. Reload every process,
    run it with --finish, which makes the new secret the first, and reload them again. With
    --at-once one run does both: until all processes are reloaded, some reject what the others sign.
    """
    from . import rotation

    if finish and at_once:
        raise click.UsageError("--at-once does both steps: give it without --finish")
    rotated = _setting(setting)
    done = rotation.rotate(config, rotated, finish=finish, at_once=at_once)
    _report(done, config, rotated, as_json)


@secret.command(
    epilog=examples(
        "authsite secret retire --config production.ini",
        "authsite secret retire --pepper --config production.ini",
    )
)
@ini_option
@_pepper_option
@_sealing_key_option
@click.option(
    "--force",
    is_flag=True,
    help="Remove all older ones, although tokens, links or passwords need them.",
)
@click.option(
    "--codes-end",
    is_flag=True,
    help="End the recovery codes that need it; their users get a mail.",
)
@json_option
def retire(
    config: str | None, setting: str | None, force: bool, codes_end: bool, as_json: bool
) -> None:
    """Remove the oldest secret.

    It refuses, and says why, as long as tokens, links or password hashes need it. If a secret has
    leaked, --force leaves only the first one, which `rotate --at-once` has made. What it has sealed
    must be sealed under another one first, by `reseal`, also with --force. Recovery codes cannot be
    sealed again: those of users who have signed in within a year count, and these users are named.
    Codes of others stop working with the key.
    """
    from . import rotation

    retired = _setting(setting)
    if codes_end and retired == "password_pepper":
        raise click.UsageError("--codes-end: recovery codes do not need the pepper, leave it out")
    done = rotation.retire(config, retired, force=force, codes_end=codes_end)
    _report(done, config, retired, as_json)


@secret.command(epilog=examples("authsite secret reseal --config production.ini"))
@json_option
@config_option
def reseal(cfg: Settings, as_json: bool) -> None:
    """Seal all sealed values under the first sealing key.

    Second factors and keys are sealed in the database. After `rotate --sealing-key --finish`, and
    where `init` has added the first sealing key, `retire` refuses to remove a key that has sealed
    some of them. The service may run at the same time. Of recovery codes only their users know the
    text: it reports how many are of another key, which are fewer with each use and each new set.
    """
    from authsite.models import METADATA
    from authsite.platform.audit.events import Event
    from authsite.platform.audit.service import record
    from authsite.platform.db.sealed import reseal as reseal_all
    from authsite.platform.db.sealed import sealed_columns
    from authsite.platform.installation.fingerprints import check
    from authsite.sign_in.methods.recovery_codes.service import count_of_other_keys

    with transaction(cfg) as ctx:
        keys = ctx.services.sealing
        check(ctx.db.connection(), cfg)
    with open_for(cfg) as database:
        done = reseal_all(database, keys, sealed_columns(METADATA))
    with transaction(cfg) as ctx:
        record(ctx, Event.SECRET_RESEALED, details=done._asdict())
        codes = count_of_other_keys(ctx)
    if as_json:
        return print_json({**done._asdict(), "recovery_codes": codes})
    click.echo(f"{done.resealed} values have a new seal under the first sealing key.")
    if codes:
        click.echo(
            f"{codes} recovery codes of another key remain, until their users use them or make new"
            " ones. `authsite secret retire --sealing-key` says whose they are."
        )
    if done.unusable:
        click.echo(
            f"No key opens {done.unusable} values: their key is not in sealing-key any more, or "
            "they were changed. If you have the key, add it at the end of AUTHSITE_SEALING_KEY and "
            "run this again.",
            err=True,
        )


@secret.command(epilog=examples("authsite secret accept --config production.ini"))
@json_option
@config_option
def accept(cfg: Settings, as_json: bool) -> None:
    """Let the database know the secret and sealing key.

    For a database that was copied or restored, or whose secret or sealing key is lost: `init`,
    `doctor` and `serve` refuse others than those that the database knows. Tokens and links that
    another secret has signed are not accepted any more, and what another sealing key has sealed
    does not open. Without a sealing key the database knows none, and `init` adds one.
    """
    from authsite.platform.audit.events import Event
    from authsite.platform.audit.service import record
    from authsite.platform.installation.fingerprints import record_all

    with transaction(cfg) as ctx:
        record_all(ctx.db.connection(), cfg)
        record(ctx, Event.SECRET_ACCEPTED)
    if as_json:
        return print_json({"accepted": True})
    sealing_key = "the sealing key" if cfg.sealing_key else "that there is no sealing key"
    click.echo(f"The database knows the secret and {sealing_key} of these settings now.")


def _setting(option: str | None) -> "Rotated":
    return cast("Rotated", option or "secret")


def _report(done: "Rotation", config: str | None, setting: "Rotated", as_json: bool) -> None:
    from .rotation import OPTION

    if as_json:
        codes = {"recovery_codes_ended": done.codes_ended} if done.step == "retired" else {}
        return print_json({"step": done.step, "env_file": str(done.env_file), **codes})
    if done.codes_ended:
        click.echo(f"{done.codes_ended} recovery codes have ended, with a mail to their users.")
    ini = f" --config {config}" if config else ""
    reseal = f"  authsite secret reseal{ini}\n" if setting == "sealing_key" else ""
    options = f"{OPTION[setting]}{ini}"
    click.echo(NEXT[done.step].format(file=done.env_file, options=options, reseal=reseal))
