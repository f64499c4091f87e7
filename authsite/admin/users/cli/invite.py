"""``authsite user invite``"""

from collections.abc import Sequence

import click

from authsite.groups.cli import by_command, errors_as_lines
from authsite.platform.command_line.results import Listing, result_command
from authsite.platform.command_line.shared import examples, reason_option, session
from authsite.platform.settings import Settings

BATCH = 200  # addresses in one transaction
COLUMNS = {"id": "id", "e-mail": "email", "group": "group", "expires": "expires_at", "sent": "sent"}


@click.command(
    epilog=examples(
        "authsite user invite ann@example.com bo@example.com",
        "authsite user invite --from addresses.txt --group ops",
    )
)
@click.argument("emails", nargs=-1, metavar="[EMAIL]...")
@click.option(
    "--from",
    "file",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="A file with one address on each line, or - for the standard input.",
)
@click.option("--group", metavar="G", help="The group that they will be in.")
@reason_option
@result_command
def invite(
    cfg: Settings, emails: Sequence[str], file: str | None, group: str | None, reason: str | None
) -> Listing:
    """Invite people by e-mail.

    They can register where no one else can, too. Each gets a link that works once, for seven days.
    A person who has an account already joins the group with it. The command can be repeated: an
    open invitation is not sent a second time. If an address is wrong, no one is invited.
    """
    from authsite.invitations import service
    from authsite.invitations.service import shown

    given = [*emails, *(_lines(file) if file else ())]
    addresses = list(dict.fromkeys(each for each in given if each))
    if not addresses:
        raise click.UsageError("no address was given: give some, or a file with --from")
    _check(addresses)
    rows, cause = [], by_command(reason)
    with session(cfg) as ctx, errors_as_lines():
        for start in range(0, len(addresses), BATCH):
            with ctx.db.begin():
                for each in addresses[start : start + BATCH]:
                    made = service.create(ctx, each, group, cause)
                    rows.append({**shown(made.invitation), "sent": made.new})
    return Listing("invitations", rows, len(rows), COLUMNS, empty="")


def _lines(file: str) -> Sequence[str]:
    """The lines of a file, or of the standard input. Raises `click.ClickException`."""
    try:
        with click.open_file(file, encoding="utf-8") as lines:
            return [line.strip() for line in lines]
    except (OSError, UnicodeDecodeError) as error:
        raise click.ClickException(
            f"--from: {file} cannot be read ({error}); give a text file in UTF-8"
        ) from None


def _check(addresses: Sequence[str]) -> None:
    """Raise `click.ClickException` with one line for each text that is not an address."""
    from authsite.platform.http.errors import ValidationFailed
    from authsite.platform.i18n import translate
    from authsite.sign_in.fields import read_address

    wrong = []
    for each in addresses:
        try:
            read_address(each)
        except ValidationFailed as error:
            wrong.append(f"{each}: {translate(error.details[0].message)}")
    if wrong:
        raise click.ClickException("\n".join(["no one was invited", *wrong]))
