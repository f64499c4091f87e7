"""``authsite user mail-code``"""

import click

from authsite.platform.command_line.results import Listing, result_command
from authsite.platform.command_line.shared import examples, reason_option, transaction
from authsite.platform.settings import Settings
from authsite.users.command_line import find, named, user_argument

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
    from authsite.platform.audit.cause import Cause
    from authsite.platform.runtime.clock import rfc3339
    from authsite.sign_in.methods.mail_code import waiting
    from authsite.users import agents

    with transaction(cfg) as ctx:
        found = find(ctx.db, email_or_id)
        codes = waiting.reveal(ctx, found, Cause("command", reason=reason))
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
            "device": agents.in_words(each.agent),
        }
        for each in codes
    ]
    return Listing("codes", rows, len(rows), COLUMNS, empty="")
