"""Replaces secret, pepper and sealing key in the environment file without signing out any user.

A process must know a new secret before any other process signs with it. So a rotation has two
steps, with a reload of every process after each: the new secret verifies, as ``secret-next``; then
it is the first ``secret``. The old ones verify until `retire` removes them. In the same way a new
sealing key opens before it seals.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

from authsite.platform.command_line.shared import config_path, transaction
from authsite.platform.runtime import clock
from authsite.platform.settings import (
    Secret,
    Settings,
    SettingsError,
    environment,
    folder_of,
    load,
    new_sealing_key,
    new_secret,
    read_ini,
    revealed,
)
from authsite.platform.settings.sources import env_file_path, read_env_file

from .files import Write, editing

if TYPE_CHECKING:
    from authsite.platform.context import Context
    from authsite.platform.crypto.keys import Key


# What still needs an old secret, pepper or sealing key, before `retire` removes it.


Rotated = Literal["secret", "password_pepper", "sealing_key"]
# The time after a rotation in which every process is reloaded.
RELOADED_WITHIN = timedelta(hours=1)
SIGNED_IN_WITHIN = timedelta(days=365)
MAX_NAMED = 50  # users in one line
NOT_RECORDED = (
    "the audit trail does not say when it was replaced: that was not done by `rotate`, or is longer"
    " ago than audit-keep. If all that needs it has expired since, give --force"
)


def check_unsealed(ctx: "Context", setting: Rotated, old: Sequence[str]) -> None:
    """Raise `click.ClickException` if a key of ``old`` has sealed a value that opens.

    It opens under no other key, so it would be lost; `reseal` helps at once.
    """
    from authsite.models import METADATA
    from authsite.platform.crypto.sealing import derived_sealing_key, prefix_of, sealing_key
    from authsite.platform.db.sealed import count_needing, sealed_columns

    if setting == "password_pepper":
        return
    key_of = sealing_key if setting == "sealing_key" else derived_sealing_key
    columns = sealed_columns(METADATA)
    prefixes = [prefix_of(key_of(each)) for each in old]
    if count := count_needing(ctx.db.connection(), ctx.services.sealing, prefixes, columns):
        raise click.ClickException(
            f"{count} values (second factors, keys) are sealed under a key that this would remove:"
            " run `authsite secret reseal`, which seals them under the first key, then run this"
            " again. They would be lost, so --force does not help"
        )


def end_recovery_codes(ctx: "Context", setting: Rotated, old: Sequence[str]) -> int:
    """End the recovery codes that were made with a key of ``old``; how many could still be used.

    Their users get a notice.
    """
    from authsite.platform.crypto.sealing import derived_sealing_key, prefix_of, sealing_key
    from authsite.sign_in.methods.recovery_codes import service

    if setting == "password_pepper":
        return 0
    key_of = sealing_key if setting == "sealing_key" else derived_sealing_key
    return service.end_of_keys(ctx, [prefix_of(key_of(each)) for each in old])


def check_unneeded(ctx: "Context", setting: Rotated, old: str) -> None:
    """Raise `click.ClickException` if something needs the value ``old`` of ``setting``."""
    needs: Mapping[Rotated, Callable[[], Iterator[str]]] = {
        "secret": lambda: _needs_of_secret(ctx, old),
        "password_pepper": lambda: _needs_of_pepper(ctx, old),
        "sealing_key": lambda: _needs_of_sealing_key(ctx, old),
    }
    if lines := list(needs[setting]()):
        raise click.ClickException(
            f"the oldest AUTHSITE_{setting.upper()} is still needed:\n  "
            + "\n  ".join(lines)
            + "\n"
            "Run this again later, or end all that needs an older value now with --force."
        )


def _needs_of_sealing_key(ctx: "Context", old: str) -> Iterator[str]:
    from authsite.platform.crypto.sealing import sealing_key

    yield from _needs_of_recovery_codes(ctx, sealing_key(old))
    yield from _needs_of_processes(ctx, "sealing_key")


def _needs_of_recovery_codes(ctx: "Context", key: "Key") -> Iterator[str]:
    """Recovery codes cannot be sealed again: only their users know them.

    Those of users who have not signed in for a year hinder no rotation. The time of a sign-in is
    not known of all: then that of the codes stands for it.
    """
    from sqlalchemy import func, select

    from authsite.platform.crypto.sealing import prefix_of
    from authsite.sign_in.methods.recovery_codes.service import RecoveryCode
    from authsite.users.models import User

    last = func.coalesce(User.last_sign_in_at, RecoveryCode.created_at)
    rows = ctx.db.execute(
        select(User.email, func.count())
        .join(RecoveryCode, RecoveryCode.user_id == User.id)
        .where(
            RecoveryCode.used_at.is_(None),
            RecoveryCode.mac.startswith(prefix_of(key)),
            last > clock.now() - SIGNED_IN_WITHIN,
        )
        .group_by(User.email)
        .order_by(User.email)
    ).all()
    if not rows:
        return
    named = ", ".join(email for email, _count in rows[:MAX_NAMED])
    more = f" and {len(rows) - MAX_NAMED} more" if len(rows) > MAX_NAMED else ""
    yield (
        f"{sum(count for _email, count in rows)} recovery codes of {len(rows)} users, until these"
        f" make new ones, or you end them with --codes-end: {named}{more}"
    )


def _needs_of_secret(ctx: "Context", old: str) -> Iterator[str]:
    """What was signed with the old secret and is valid, a line for each kind."""
    from sqlalchemy import func, or_, select

    from authsite.oauth.models import Family, PersonalToken
    from authsite.platform.crypto.sealing import derived_sealing_key
    from authsite.platform.rate_limit.recognized import RECOGNIZED_FOR
    from authsite.sign_in.notices import LINK_LIFETIME

    yield from _needs_of_recovery_codes(ctx, derived_sealing_key(old))
    now, cfg = clock.now(), ctx.settings
    rotated_at = _rotated_at(ctx, "secret")
    if rotated_at is None:
        yield NOT_RECORDED
        return
    signed_before = rotated_at + RELOADED_WITHIN
    of_families = (
        Family.revoked_at.is_(None),
        Family.rotated_at < signed_before,
        or_(Family.refresh_expires_at > now, Family.rotated_at > now - cfg.expires_in),
    )
    personal = (
        PersonalToken.revoked_at.is_(None),
        PersonalToken.created_at < signed_before,
        PersonalToken.expires_at > now,
    )
    for what, ends, which in (
        ("sessions of apps", Family.refresh_expires_at, of_families),
        ("personal access tokens", PersonalToken.expires_at, personal),
    ):
        count, last = ctx.db.execute(select(func.count(), func.max(ends)).where(*which)).one()
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

    from authsite.platform.audit.events import Event
    from authsite.platform.audit.models import AuditEvent

    rows = ctx.db.execute(
        select(AuditEvent.at, AuditEvent.details)
        .where(AuditEvent.event == Event.SECRET_ROTATED)
        .order_by(AuditEvent.at.desc())
    )
    name = setting.replace("_", "-")
    return next((at for at, details in rows if (details or {}).get("setting") == name), None)


def _needs_of_pepper(ctx: "Context", old: str) -> Iterator[str]:
    from sqlalchemy import func, select

    from authsite.platform.passwords.hashing import hash_prefix
    from authsite.users.models import User

    count = ctx.db.scalar(
        select(func.count()).where(User.password_hash.startswith(hash_prefix(old), autoescape=True))
    )
    if count:
        yield (
            f"{count} users have not logged in with their password since the rotation: without it "
            "they must reset their password"
        )
    yield from _needs_of_processes(ctx, "password_pepper")


def _needs_of_processes(ctx: "Context", setting: Rotated) -> Iterator[str]:
    """Whether a process may still use the former value, since it was not reloaded."""
    rotated_at = _rotated_at(ctx, setting)
    if rotated_at is None:
        yield NOT_RECORDED
    elif (reloaded := rotated_at + RELOADED_WITHIN) > clock.now():
        yield f"processes that are not reloaded, until {clock.rfc3339(reloaded)}"


Step = Literal["announced", "rotated", "retired"]
# The option of the commands that names a setting.
OPTION: Mapping[Rotated, str] = {
    "secret": "",
    "password_pepper": " --pepper",
    "sealing_key": " --sealing-key",
}
SEALS_UNTIL_RELOADED = 100  # one a minute, or 5000 events


class Rotation(NamedTuple):
    """What a step has done: the next command, and the file on which it acts.

    ``codes_ended``: how many recovery codes that could still be used have ended with it.
    """

    step: Step
    env_file: Path
    codes_ended: int = 0


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

    With ``at_once`` a new one becomes the first, and one that was announced is dropped: a person
    with the environment file knows it, too.

    Raises `click.ClickException` if the settings are invalid, if the setting is not in the
    environment file alone, if it is not the time for this step, or if the file or the database
    cannot be written.
    """
    with _editing(config, setting) as edit:
        if not at_once:
            _check_step(edit, setting, finish=finish)
        new = edit.announced if finish else (_new_value(setting),)
        if finish or at_once:
            values = (*new, *edit.values)
            changes = {variable(setting): " ".join(values), variable(setting, "NEXT"): None}
            step: Step = "rotated"
        else:
            changes, step = {variable(setting, "NEXT"): new[0]}, "announced"
        lasting = _lasting_keys(edit.cfg, setting, new_audit_key=at_once)
        _write(edit, setting, step, changes | lasting)
    return Rotation(step, edit.path)


def _new_value(setting: Rotated) -> str:
    return new_sealing_key() if setting == "sealing_key" else new_secret()


def _check_step(edit: _Edit, setting: Rotated, *, finish: bool) -> None:
    command = f"authsite secret rotate{OPTION[setting]}"
    if edit.announced and not finish:
        raise click.ClickException(
            f"{edit.path} has an announced value already: reload authsite on every machine, then "
            f"run `{command} --finish`"
        )
    if finish and not edit.announced:
        raise click.ClickException(f"no value is announced: run `{command}` first")


def retire(
    config: str | None, setting: Rotated, *, force: bool, codes_end: bool = False
) -> Rotation:
    """Remove the oldest secret if nothing needs it any more; with ``force`` all but the first.

    ``codes_end``: the recovery codes that need what is removed end, with a notice to their users.

    Raises `click.ClickException` as `rotate` does, if it is the only one, if it is needed, and if
    it has sealed what no other key opens, also with ``force``.
    """
    with _editing(config, setting) as edit:
        if len(edit.values) < 2:
            raise click.ClickException(
                f"{variable(setting)} has no older value: run `authsite secret rotate"
                f"{OPTION[setting]}` first"
            )
        remaining = edit.values[:1] if force else edit.values[:-1]
        removed, codes_ended = edit.values[len(remaining) :], 0
        with transaction(edit.cfg) as ctx:
            check_unsealed(ctx, setting, removed)
            if codes_end:
                codes_ended = end_recovery_codes(ctx, setting, removed)
            if not force:
                check_unneeded(ctx, setting, edit.values[-1])
        changes: dict[str, str | None] = {variable(setting): " ".join(remaining)}
        _write(edit, setting, "retired", changes | _lasting_keys(edit.cfg, setting))
    return Rotation("retired", edit.path, codes_ended)


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
    from authsite.platform.audit.events import Event
    from authsite.platform.audit.service import record
    from authsite.platform.installation import fingerprints

    event: Mapping[Step, Event] = {
        "announced": Event.SECRET_ANNOUNCED,
        "rotated": Event.SECRET_ROTATED,
        "retired": Event.SECRET_RETIRED,
    }
    former = {name: read_env_file(edit.path).get(name) for name in changes}
    name = setting.replace("_", "-")
    firsts = (changes.get(variable(setting)) or " ".join(edit.values)).split()[:1]
    written = False
    try:
        with transaction(edit.cfg) as ctx:
            connection = ctx.db.connection()
            for known in fingerprints.ALL_KNOWN:
                if known.name == name:
                    fingerprints.check(connection, edit.cfg, (known,))
                    fingerprints.record(connection, known, next(map(Secret, firsts), None))
            record(ctx, event[step], details={"setting": name})
            edit.write(changes)  # before the commit: if it fails, nothing is recorded
            written = True
    except BaseException:
        if written:  # the commit failed: run again, the command does the same step
            edit.write(former)
        raise


def _lasting_keys(
    cfg: Settings, setting: Rotated, *, new_audit_key: bool = False
) -> dict[str, str | None]:
    """Settings for the keys that a rotation of the secret must not change.

    With ``new_audit_key`` a new key makes the next seals, since a person who knows the secret may
    know the key that derives from it. The former keys verify the seals that exist, and some more of
    the processes that are not reloaded yet.
    """
    from authsite.platform.audit.seals.seal import AuditKey, audit_keys, keys_in_hex
    from authsite.platform.audit.seals.table import last_number
    from authsite.platform.crypto.keys import key_of
    from authsite.platform.rate_limit.limiter import subject_key

    if setting != "secret":
        return {}
    keys = audit_keys(cfg)
    if new_audit_key:
        with transaction(cfg) as ctx:
            until = last_number(ctx.db.connection(), keys) + SEALS_UNTIL_RELOADED
        former = (each.ending(until) for each in keys)
        keys = (AuditKey(key_of(secrets.token_bytes(32))), *former)
    return {"AUTHSITE_LIMITS_KEY": subject_key(cfg), "AUTHSITE_AUDIT_KEY": keys_in_hex(keys)}
