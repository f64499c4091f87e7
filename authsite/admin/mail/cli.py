"""``authsite mail …``"""

import logging
import signal
import threading
import uuid
from collections import Counter
from typing import TYPE_CHECKING

import click

from authsite.admin.guard import COMMAND
from authsite.admin.mail import service
from authsite.platform.command_line.results import Done, Listing, result_command
from authsite.platform.command_line.shared import (
    cause_of,
    config_path,
    examples,
    ini_option,
    json_option,
    limit_option,
    print_json,
    settings_of,
    transaction,
    visible,
)
from authsite.platform.mail import outbox
from authsite.platform.mail.outbox import facts
from authsite.platform.settings import Settings, SettingsError

if TYPE_CHECKING:
    from authsite.platform.mail.sender import Sender

COLUMNS = {
    "id": "id",
    "mail": "letter",
    "to": "to",
    "state": "state",
    "tries": "attempts",
    "next try": "next_attempt_at",
    "last error": "last_error",
}
STATES = {"sent": "sent", "waiting": "to be tried again", "dead": "dead", "expired": "dropped"}


@click.group()
def mail() -> None:
    """The outbox: send, list and retry mails."""


@mail.command(epilog=examples("authsite mail send", "authsite mail send --loop"))
@click.option("--loop", is_flag=True, help="Go on until told to stop (SIGTERM).")
@json_option
@ini_option
def send(config: str | None, loop: bool, as_json: bool) -> None:
    """Send the mails that are due, or with --loop until stopped."""
    from authsite.platform.logs import configure

    if loop and as_json:
        raise click.UsageError("--json has no meaning with --loop, which does not end by itself")
    cfg = settings_of(config)
    configure(as_json=cfg.production)
    logging.getLogger("authsite.settings").setLevel(logging.ERROR)  # the server logs these
    stop = threading.Event()
    for signal_ in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_, lambda *_: stop.set())  # finishes the current mail
    try:
        sender = _sender(config)
    except SettingsError as error:
        raise click.ClickException(str(error)) from None
    if loop:
        from authsite.platform.mail.sender import run

        click.echo("Sending mail until told to stop (Ctrl-C).")
        return run(sender, stop)
    _send_due(sender, stop, as_json=as_json)


@mail.command(
    "list", epilog=examples("authsite mail list --dead", "authsite mail list --email ann@")
)
@click.option("--email", metavar="TEXT", default="", help="Only to addresses with this text.")
@click.option("--dead", is_flag=True, help="Only dead mails, which are not tried again.")
@limit_option
@result_command
def list_(cfg: Settings, email: str, dead: bool, limit: int) -> Listing:
    """List waiting, failed and dead mails, without their links."""
    with transaction(cfg) as ctx:
        found = outbox.search(ctx.db, limit, email=email, dead=dead)
        rows = [facts(item) for item in found.mails]
    empty = "No mail matches." if email or dead else "No mail waits, and none is dead."
    return Listing("mails", rows, found.total, COLUMNS, empty)


@mail.command(epilog=examples("authsite mail retry --all"))
@click.argument("mail_id", metavar="[ID]", required=False, type=click.UUID)
@click.option("--all", "every", is_flag=True, help="All dead mails.")
@result_command
def retry(cfg: Settings, mail_id: uuid.UUID | None, every: bool) -> Done:
    """Try dead mails for another 24 hours."""
    if (mail_id is None) != every:
        raise click.UsageError("give the id of a dead mail (see `authsite mail list`), or --all")
    with transaction(cfg) as ctx:
        count = service.retry_dead(ctx, COMMAND, mail_id)
    if mail_id and not count:
        raise click.ClickException(
            f"no dead mail has the id {mail_id}; `authsite mail list` shows them"
        )
    return Done(f"Tried again at the sender's next round: {count}.", {"retried": count})


def _sender(config: str | None) -> "Sender":
    """A sender with the mail builders of all packages, which the application registers."""
    import authsite
    from authsite.platform.mail.sender import open_sender
    from authsite.platform.settings import read_ini

    application = authsite.compose(read_ini(config_path(config)))
    return open_sender(application.registry["authsite"])


def _send_due(sender: "Sender", stop: threading.Event, *, as_json: bool) -> None:
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.platform.mail.sender import send_batch
    from authsite.platform.mail.transports import Unreachable

    done: Counter[str] = Counter()
    try:
        while send_batch(sender, stop, done) and not stop.is_set():
            pass
    except Unreachable as error:
        to_file = sender.services.settings.mail_driver == "file"
        raise click.ClickException(
            f"no mail can leave now: {visible(str(error))}\n"
            "Nothing is lost; the mails wait. Check "
            f"authsite.{'mail-folder' if to_file else 'smtp-url'}."
        ) from None
    except SQLAlchemyError as error:
        raise click.ClickException(
            f"the database reported an error: {cause_of(error)}\nCheck that it is reachable, and "
            "run `authsite db upgrade`."
        ) from None
    finally:
        if as_json:
            print_json({state: done[state] for state in STATES})
        else:
            click.echo(", ".join(f"{done[state]} {label}" for state, label in STATES.items()))
