"""``authsite user factors`` and ``reset-factors``"""

from typing import TYPE_CHECKING, Any

import click

from authsite.platform.command_line.results import Facts, Listing, result_command
from authsite.platform.command_line.shared import (
    examples,
    reason_option,
    required_reason_option,
    transaction,
)
from authsite.platform.settings import Settings
from authsite.users.listing import find, named, user_argument

from .shared import facts_of

if TYPE_CHECKING:
    from authsite.platform.context import Context
    from authsite.sign_in.methods.totp.models import TotpFactor
    from authsite.users.models import User


@click.command("factors", epilog=examples("authsite user factors ann@example.com"))
@user_argument
@result_command
def factors(cfg: Settings, email_or_id: str) -> Facts:
    """Show the second factors and passkeys of a user.

    `asked` is whether a second factor is asked for after the password. If it is, and none of them
    can be used, only `authsite user reset-factors` helps.
    """
    with transaction(cfg) as ctx:
        found = find(ctx.db, email_or_id)
        data = _factors_of(ctx, found)
    return Facts(f"The second factors of {named(found)}:", data, _shown(data))


@click.command(
    "reset-factors",
    epilog=examples(
        "authsite user reset-factors ann@example.com --reason 'lost the phone; called back'"
    ),
)
@user_argument
@required_reason_option("Why, and how it is known who asked for it.")
@result_command
def reset_factors(cfg: Settings, email_or_id: str, reason: str) -> Facts:
    """Remove all second factors, passkeys and recovery codes.

    For a user who has lost all of them. All sign-ins end; the user gets a notice, and signs in with
    the password. Make sure first who asks for it: an attacker may call as well.
    """
    from authsite.admin.guard import COMMAND
    from authsite.admin.users import actions

    with transaction(cfg) as ctx:
        found = find(ctx.db, email_or_id)
        removed = actions.reset_factors(ctx, COMMAND, found, reason)
        ctx.db.refresh(found)
    done: dict[str, object] = {
        "removed_totp": removed.totp,
        "removed_passkeys": removed.passkeys,
        "removed_recovery_codes": removed.recovery_codes,
    }
    note = None
    if not found.password_hash:
        note = "The user has no password: a new one can be requested on the page /password/forgot."
    return Facts(
        "The second factors are removed; tokens and sessions are ended:",
        facts_of(found) | done,
        {"email": found.email} | done,
        note,
    )


def _factors_of(ctx: "Context", user: "User") -> dict[str, Any]:
    from sqlalchemy import select

    from authsite.platform.runtime.clock import rfc3339
    from authsite.sign_in.factors import remembered, service
    from authsite.sign_in.methods.passkeys.stored import Passkey
    from authsite.sign_in.methods.totp.models import TotpFactor

    totp = ctx.db.scalars(select(TotpFactor).where(TotpFactor.user_id == user.id)).one_or_none()
    passkeys = ctx.db.scalars(
        select(Passkey).where(Passkey.user_id == user.id).order_by(Passkey.created_at, Passkey.id)
    ).all()
    return {
        "email": user.email,
        "asked": user.second_factor_at is not None,
        "after_password": user.passkey_after_password,
        "since": user.factors_since and rfc3339(user.factors_since),
        "totp": totp
        and {
            "created_at": rfc3339(totp.created_at),
            "last_used_at": totp.used_at and rfc3339(totp.used_at),
            "usable": _opens(ctx, totp),
            "failures": totp.failures,
        },
        "passkeys": [
            {
                "id": str(each.id),
                "name": each.name,
                "rp_id": each.rp_id,
                "created_at": rfc3339(each.created_at),
                "last_used_at": each.used_at and rfc3339(each.used_at),
                "synced": each.backup_eligible,
            }
            for each in passkeys
        ],
        "recovery_codes": service.find(ctx.db, user.id).recovery_codes,
        "remembered_browsers": remembered.count(ctx, user.id),
    }


def _opens(ctx: "Context", totp: "TotpFactor") -> bool:
    from authsite.platform.crypto.sealing import Unusable
    from authsite.sign_in.methods.totp.method import binding

    try:
        ctx.services.sealing.open(totp.secret, binding(totp.id, totp.user_id))
    except Unusable:
        return False
    return True


def _shown(data: dict[str, Any]) -> dict[str, Any]:
    """The values for people: one line for each factor."""
    totp, shown = data["totp"], dict(data)
    if totp:
        used = totp["last_used_at"] or "never"
        shown["totp"] = f"since {totp['created_at']}, used {used}" + (
            "" if totp["usable"] else "; no sealing key opens it"
        )
    del shown["passkeys"]
    for number, each in enumerate(data["passkeys"], start=1):
        used = each["last_used_at"] or "never"
        shown[f"passkey_{number}"] = f"{each['name']}, since {each['created_at']}, used {used}"
    return shown


# ``authsite user mail-code``


COLUMNS = {
    "code": "code",
    "for": "for",
    "asked for": "began_at",
    "until": "expires_at",
    "address": "address",
    "device": "device",
}


@click.command(
    "mail-code",
    epilog=examples(
        "authsite user mail-code ann@example.com",
        "authsite user mail-code ann@example.com --reason 'first owner, no mail server yet'",
    ),
)
@user_argument
@reason_option
@result_command
def mail_code(cfg: Settings, email_or_id: str, reason: str | None) -> Listing:
    """Print the codes that a user would get by mail.

    For a user who waits for one on the login page, or before a change of the account, while no mail
    arrives: such as the first owner. With the code, the browser that has asked for it signs in: so
    make sure first that it is the user's. The audit trail has it.
    """
    from authsite.platform.audit.service import Cause
    from authsite.platform.runtime.clock import rfc3339
    from authsite.sign_in.methods.mail_code import service
    from authsite.users import account

    with transaction(cfg) as ctx:
        found = find(ctx.db, email_or_id)
        codes = service.reveal(ctx, found, Cause("command", reason=reason))
    if not codes:
        raise click.ClickException(
            f"no code for {named(found)} is waited for: let the user sign in until the page asks "
            "for the code from the mail, and run this again within ten minutes"
        )
    rows = [
        {
            "code": each.code,
            "for": "a change" if each.of_session else "a sign-in",
            "began_at": rfc3339(each.began_at),
            "expires_at": rfc3339(each.expires_at),
            "address": each.address,
            "device": account.in_words(each.agent),
        }
        for each in codes
    ]
    return Listing("codes", rows, len(rows), COLUMNS, empty="")
