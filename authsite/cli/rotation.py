"""Replaces the secret and the pepper in the environment file without signing out any user.

A process must know a new secret before any other process signs with it. So a rotation has two
steps, with a reload of every process after each: the new secret verifies, as ``secret-next``; then
it is the first ``secret``. The old ones verify until `retire` removes them.
"""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

from authsite import clock
from authsite.settings import (
    Secret,
    Settings,
    SettingsError,
    environment,
    folder_of,
    load,
    new_secret,
    read_ini,
    revealed,
)
from authsite.settings.envfile import env_file_path, read_env_file

from .envwriter import Write, editing
from .shared import config_path, transaction

if TYPE_CHECKING:
    from authsite.context import Context

Rotated = Literal["secret", "password_pepper"]
Step = Literal["announced", "rotated", "retired"]
# The time after a rotation in which every process is reloaded.
RELOADED_WITHIN = timedelta(hours=1)
NOT_RECORDED = (
    "the audit trail does not say when it was replaced: that was not done by `rotate`, or is longer"
    " ago than audit-keep. If all that needs it has expired since, give --force"
)
SEALS_UNTIL_RELOADED = 100  # one a minute, or 5000 events


class Rotation(NamedTuple):
    """What a step has done: the next command, and the file on which it acts."""

    step: Step
    env_file: Path


class _Edit(NamedTuple):
    cfg: Settings
    path: Path
    write: Write
    values: tuple[str, ...]  # of the setting, the first first
    announced: tuple[str, ...]


def rotate(
    config: str | None, setting: Rotated, *, finish: bool = False, at_once: bool = False
) -> Rotation:
    """Announce a new secret; with ``finish`` make the announced one the first.

    With ``at_once`` a new one becomes the first, and one that was announced is dropped: who has the
    environment file knows it, too.

    Raises `click.ClickException` if the settings are invalid, if the setting is not in the
    environment file alone, if it is not the time for this step, or if the file or the database
    cannot be written.
    """
    with _editing(config, setting) as edit:
        if not at_once:
            _check_step(edit, setting, finish=finish)
        new = edit.announced if finish else (new_secret(),)
        if finish or at_once:
            values = (*new, *edit.values)
            changes = {variable(setting): " ".join(values), variable(setting, "NEXT"): None}
            step: Step = "rotated"
        else:
            changes, step = {variable(setting, "NEXT"): new[0]}, "announced"
        lasting = _lasting_keys(edit.cfg, setting, new_audit_key=at_once)
        _write(edit, setting, step, changes | lasting)
    return Rotation(step, edit.path)


def _check_step(edit: _Edit, setting: Rotated, *, finish: bool) -> None:
    command = f"authsite secret rotate{' --pepper' if setting == 'password_pepper' else ''}"
    if edit.announced and not finish:
        raise click.ClickException(
            f"{edit.path} has an announced value already: reload authsite on every machine, then "
            f"run `{command} --finish`"
        )
    if finish and not edit.announced:
        raise click.ClickException(f"no value is announced: run `{command}` first")


def retire(config: str | None, setting: Rotated, *, force: bool) -> Rotation:
    """Remove the oldest secret if nothing needs it any more; with ``force`` all but the first.

    Raises `click.ClickException` as `rotate` does, if it is the only one, and if it is needed.
    """
    with _editing(config, setting) as edit:
        if len(edit.values) < 2:
            raise click.ClickException(
                f"{variable(setting)} has no older value: run `authsite secret rotate` first"
            )
        if not force:
            with transaction(edit.cfg) as ctx:
                _check_unneeded(ctx, setting, edit.values[-1])
        remaining = edit.values[:1] if force else edit.values[:-1]
        changes: dict[str, str | None] = {variable(setting): " ".join(remaining)}
        _write(edit, setting, "retired", changes | _lasting_keys(edit.cfg, setting))
    return Rotation("retired", edit.path)


def variable(setting: Rotated, suffix: str = "") -> str:
    """The variable of ``setting``, or of that with the suffix: ``AUTHSITE_SECRET_NEXT``."""
    return "_".join(filter(None, ("AUTHSITE", setting.upper(), suffix)))


@contextmanager
def _editing(config: str | None, setting: Rotated) -> Iterator[_Edit]:
    try:
        ini = read_ini(config_path(config))
        path = env_file_path(environment(folder_of(ini)), folder_of(ini))
        if not path.exists():
            raise click.ClickException(_elsewhere(variable(setting), path))
        with editing(path) as write:
            cfg = load(ini, environment(folder_of(ini)))
            values = revealed(getattr(cfg, setting))
            announced = revealed(getattr(cfg, f"{setting}_next"))
            file = read_env_file(path)
            for name, used in ((variable(setting), values), (variable(setting, "NEXT"), announced)):
                if tuple(file.get(name, "").split()) != used:
                    raise click.ClickException(_elsewhere(name, path))
            yield _Edit(cfg, path, write, values, announced)
    except SettingsError as error:
        raise click.ClickException(str(error)) from None


def _elsewhere(name: str, path: Path) -> str:
    return (
        f"{name} is not set in {path} alone, but in the environment of the process, in the file "
        f"that {name}_FILE names, or in the ini. Move it to {path} and run this again, or change "
        "it where it is in the same steps (docs/operations.md, Rotate the secret)"
    )


def _write(
    edit: _Edit,
    setting: Rotated,
    step: Step,
    changes: dict[str, str | None],
) -> None:
    from authsite.audit.events import Event
    from authsite.audit.service import record
    from authsite.installation import secret

    event: Mapping[Step, Event] = {
        "announced": Event.SECRET_ANNOUNCED,
        "rotated": Event.SECRET_ROTATED,
        "retired": Event.SECRET_RETIRED,
    }
    former = {name: read_env_file(edit.path).get(name) for name in changes}
    first = (changes.get(variable("secret")) or edit.cfg.secret[0].reveal()).split()[0]
    written = False
    try:
        with transaction(edit.cfg) as ctx:
            if setting == "secret":
                secret.check(ctx.db.connection(), edit.cfg)
                secret.record(ctx.db.connection(), Secret(first))
            record(ctx, event[step], details={"setting": setting.replace("_", "-")})
            edit.write(changes)  # before the commit: if it fails, nothing is recorded
            written = True
    except secret.OtherSecret as error:
        raise click.ClickException(str(error)) from None
    except BaseException:
        if written:  # the commit failed: run again, the command does the same step
            edit.write(former)
        raise


def _lasting_keys(
    cfg: Settings, setting: Rotated, *, new_audit_key: bool = False
) -> dict[str, str | None]:
    """Settings for the keys that a rotation of the secret must not change.

    With ``new_audit_key`` a new key makes the next seals, since who knows the secret may know the
    key that derives from it. The former keys verify the seals that exist, and some more of the
    processes that are not reloaded yet.
    """
    from authsite.audit.seals import AuditKey, audit_keys, keys_in_hex, last_number
    from authsite.crypto.keys import key_of
    from authsite.rate_limit.limiter import subject_key

    if setting != "secret":
        return {}
    keys = audit_keys(cfg)
    if new_audit_key:
        with transaction(cfg) as ctx:
            until = last_number(ctx.db.connection(), keys) + SEALS_UNTIL_RELOADED
        former = (each.ending(until) for each in keys)
        keys = (AuditKey(key_of(secrets.token_bytes(32))), *former)
    return {"AUTHSITE_LIMITS_KEY": subject_key(cfg), "AUTHSITE_AUDIT_KEY": keys_in_hex(keys)}


def _check_unneeded(ctx: "Context", setting: Rotated, old: str) -> None:
    needed = _needs_of_secret(ctx) if setting == "secret" else _needs_of_pepper(ctx, old)
    if lines := list(needed):
        raise click.ClickException(
            f"the oldest {variable(setting)} is still needed:\n  " + "\n  ".join(lines) + "\n"
            "Run this again later, or end all that needs an older value now with --force."
        )


def _needs_of_secret(ctx: "Context") -> Iterator[str]:
    """What was signed with the old secret and is valid, a line for each kind."""
    from sqlalchemy import func, or_, select

    from authsite.login.notices import LINK_LIFETIME
    from authsite.oauth.models import OAUTH, PERSONAL, Family
    from authsite.rate_limit.recognized import RECOGNIZED_FOR

    now, cfg = clock.now(), ctx.settings
    rotated_at = _rotated_at(ctx, "secret")
    if rotated_at is None:
        yield NOT_RECORDED
        return
    signed_before = rotated_at + RELOADED_WITHIN
    for kind, what in ((OAUTH, "sign-ins"), (PERSONAL, "personal access tokens")):
        count, last = ctx.db.execute(
            select(func.count(), func.max(Family.refresh_expires_at)).where(
                Family.kind == kind,
                Family.revoked_at.is_(None),
                Family.rotated_at < signed_before,
                or_(Family.refresh_expires_at > now, Family.rotated_at > now - cfg.expires_in),
            )
        ).one()
        if count:
            yield f"{count} {what}, the last until {clock.rfc3339(last)}"
    links = max(
        cfg.verification_expires_in,
        cfg.reset_expires_in,
        cfg.email_revert_expires_in,
        LINK_LIFETIME,
    )
    for what, lifetime in (
        ("links in mails", links),
        ("cookies that recognize a browser", RECOGNIZED_FOR),
    ):
        if signed_before + lifetime > now:
            yield f"{what}, until {clock.rfc3339(signed_before + lifetime)}"


def _rotated_at(ctx: "Context", setting: Rotated) -> datetime | None:
    """When the first value was last changed, as far as the audit trail says."""
    from sqlalchemy import select

    from authsite.audit.events import Event
    from authsite.audit.models import AuditEvent

    rows = ctx.db.execute(
        select(AuditEvent.at, AuditEvent.details)
        .where(AuditEvent.event == Event.SECRET_ROTATED)
        .order_by(AuditEvent.at.desc())
    )
    name = setting.replace("_", "-")
    return next((at for at, details in rows if (details or {}).get("setting") == name), None)


def _needs_of_pepper(ctx: "Context", old: str) -> Iterator[str]:
    from sqlalchemy import func, select

    from authsite.passwords.scheme import hash_prefix
    from authsite.users.models import User

    count = ctx.db.scalar(
        select(func.count()).where(User.password_hash.startswith(hash_prefix(old), autoescape=True))
    )
    if count:
        yield (
            f"{count} users have not logged in with their password since the rotation: without it "
            "they must reset their password"
        )
    rotated_at = _rotated_at(ctx, "password_pepper")
    if rotated_at is None:
        yield NOT_RECORDED
    elif (reloaded := rotated_at + RELOADED_WITHIN) > clock.now():
        yield f"processes that are not reloaded, until {clock.rfc3339(reloaded)}"
