"""``authsite invitation list``, ``resend`` and ``revoke``; ``authsite user invite`` makes them."""

from collections.abc import Callable
from typing import Any

import click

from authsite.groups.cli import by_command, errors_as_lines
from authsite.platform.command_line.results import Done, Listing, result_command
from authsite.platform.command_line.shared import examples, limit_option, reason_option, transaction
from authsite.platform.context import Context
from authsite.platform.runtime.ids import as_id
from authsite.platform.settings import Settings
from authsite.users import service as users

from . import service
from .models import Invitation
from .service import inviter_of, shown, shown_open

invitation_argument: Callable[[Any], Any] = click.argument("email_or_id", metavar="EMAIL_OR_ID")
COLUMNS = {
    "id": "id",
    "e-mail": "email",
    "group": "group",
    "by": "by",
    "sent": "created_at",
    "expires": "expires_at",
}
MOST = 1000  # invitations of one address


@click.group()
def invitation() -> None:
    """Open invitations, which `user invite` makes."""


@invitation.command("list", epilog=examples("authsite invitation list --json"))
@limit_option
@result_command
def list_(cfg: Settings, limit: int) -> Listing:
    """List the open invitations, the newest first.

    Those that have expired, and those of an administrator who may not invite any more, are not
    among them: their links do not work.
    """
    with transaction(cfg) as ctx:
        found = service.list_open(ctx, limit)
        total = service.count_open(ctx)
        emails = users.emails(ctx.db, [each.inviter_id for each in found if each.inviter_id])
    rows = []
    for each in found:
        inviter = inviter_of(each)
        by = emails.get(each.inviter_id) if each.inviter_id else None
        rows.append({**shown_open(each), "by": by or inviter["id"] or inviter["kind"]})
    empty = "No open invitations. Invite people with `authsite user invite EMAIL`."
    return Listing("invitations", rows, total, COLUMNS, empty)


@invitation.command(epilog=examples("authsite invitation resend ann@example.com"))
@invitation_argument
@reason_option
@result_command
def resend(cfg: Settings, email_or_id: str, reason: str | None) -> Done:
    """Mail open invitations again.

    Each gets a new link for seven days. The links of former mails end.
    """
    cause = by_command(reason)
    with transaction(cfg) as ctx, errors_as_lines():
        sent = [service.resend(ctx, each.id, cause) for each in _find(ctx, email_or_id)]
    text = f"{_count(len(sent))} on the way to {sent[0].email} again."
    return Done(text, {"invitations": [shown(each) for each in sent]})


@invitation.command(epilog=examples("authsite invitation revoke ann@example.com"))
@invitation_argument
@reason_option
@result_command
def revoke(cfg: Settings, email_or_id: str, reason: str | None) -> Done:
    """Revoke open invitations: their links end at once."""
    cause = by_command(reason)
    with transaction(cfg) as ctx, errors_as_lines():
        found = _find(ctx, email_or_id)
        for each in found:
            service.revoke(ctx, each.id, cause)
    text = f"{_count(len(found))} revoked: {found[0].email}."
    return Done(text, {"invitations": [shown(each) for each in found]})


def _find(ctx: Context, email_or_id: str) -> list[Invitation]:
    """The open invitation with this id, or those of this address; at least one."""
    if id_ := as_id(email_or_id.lower()):
        return [service.find(ctx, id_)]
    if found := service.list_open(ctx, MOST, email=email_or_id):
        return list(found)
    raise click.ClickException(
        f"no open invitation has the address or id {email_or_id!r}; `authsite invitation list` "
        "shows them"
    )


def _count(count: int) -> str:
    return "The invitation is" if count == 1 else f"{count} invitations are"
