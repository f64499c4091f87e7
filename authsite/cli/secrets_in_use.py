"""What still needs an old secret, pepper or sealing key, before `retire` removes it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

import click

from authsite.platform.runtime import clock

if TYPE_CHECKING:
    from authsite.platform.context import Context
    from authsite.platform.crypto.keys import Key

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
    from authsite.sign_in.methods.recovery_codes.models import RecoveryCode
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

    from authsite.platform.passwords.scheme import hash_prefix
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
