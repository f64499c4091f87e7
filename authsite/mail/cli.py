"""``authsite mail …``"""

import logging
import signal
import threading
import uuid
from collections import Counter
from typing import TYPE_CHECKING

import click

from authsite import clock
from authsite.cli.shared import (
    config_option,
    config_path,
    examples,
    json_option,
    limit_option,
    print_json,
    print_more,
    print_table,
    settings_of,
    transaction,
    visible,
)
from authsite.settings import Settings, SettingsError

from . import outbox
from .models import OutboxMessage

if TYPE_CHECKING:
    from .sender import Sender

STATES = {"sent": "sent", "waiting": "to be tried again", "dead": "dead", "expired": "dropped"}


@click.group()
def mail() -> None:
    """The outbox: send, list and retry mails."""


@mail.command(epilog=examples("authsite mail send", "authsite mail send --loop"))
@click.option("--loop", is_flag=True, help="Go on until told to stop (SIGTERM).")
@json_option
@click.option("--config", metavar="INI", help="Default: $AUTHSITE_CONFIG or development.ini.")
def send(config: str | None, loop: bool, as_json: bool) -> None:
    """Send the mails that are due, or with --loop until stopped."""
    from authsite.logs import configure

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
        from .sender import run

        click.echo("Sending mail until told to stop (Ctrl-C).")
        return run(sender, stop)
    _send_due(sender, stop, as_json=as_json)


@mail.command(
    "list", epilog=examples("authsite mail list --dead", "authsite mail list --email ann@")
)
@click.option("--email", metavar="TEXT", default="", help="Only to addresses with this text.")
@click.option("--dead", is_flag=True, help="Only dead mails, which are not tried again.")
@limit_option
@json_option
@config_option
def list_(cfg: Settings, email: str, dead: bool, limit: int, as_json: bool) -> None:
    """List waiting, failed and dead mails, without their links."""
    with transaction(cfg) as ctx:
        found = outbox.search(ctx.db, limit, email=email, dead=dead)
        total, rows = found.total, [_facts(item) for item in found.mails]
    if as_json:
        return print_json({"mails": rows, "total": total})
    columns = ("id", "mail", "to", "state", "tries", "next try", "last error")
    keys = ("id", "letter", "to", "state", "attempts", "next_attempt_at", "last_error")
    cells = [["–" if row[key] is None else str(row[key]) for key in keys] for row in rows]
    chosen = email or dead
    empty = "No mail matches." if chosen else "No mail waits, and none is dead."
    print_table(columns, cells, empty=empty)
    print_more(total - len(rows))


@mail.command(epilog=examples("authsite mail retry --all"))
@click.argument("mail_id", metavar="[ID]", required=False, type=click.UUID)
@click.option("--all", "every", is_flag=True, help="All dead mails.")
@json_option
@config_option
def retry(cfg: Settings, mail_id: uuid.UUID | None, every: bool, as_json: bool) -> None:
    """Try dead mails for another 24 hours."""
    if (mail_id is None) != every:
        raise click.UsageError("give the id of a dead mail (see `authsite mail list`), or --all")
    with transaction(cfg) as ctx:
        count = outbox.retry(ctx.db, mail_id)
    if mail_id and not count:
        raise click.ClickException(
            f"no dead mail has the id {mail_id}; `authsite mail list` shows them"
        )
    if as_json:
        return print_json({"retried": count})
    click.echo(f"Tried again at the sender's next round: {count}.")


def _sender(config: str | None) -> "Sender":
    """A sender with the mail builders of all packages, which the application registers."""
    import authsite
    from authsite.settings import read_ini

    from .sender import open_sender

    application = authsite.compose(read_ini(config_path(config)))
    return open_sender(application.registry["authsite"])


def _send_due(sender: "Sender", stop: threading.Event, *, as_json: bool) -> None:
    from sqlalchemy.exc import SQLAlchemyError

    from .sender import send_batch
    from .transports import Unreachable

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
        cause = str(getattr(error, "orig", error)).strip().splitlines()[0]
        raise click.ClickException(
            f"the database reported an error: {cause}\nCheck that it is reachable, and run "
            "`authsite db upgrade`."
        ) from None
    finally:
        if as_json:
            print_json({state: done[state] for state in STATES})
        else:
            click.echo(", ".join(f"{done[state]} {label}" for state, label in STATES.items()))


def _facts(item: OutboxMessage) -> dict[str, str | int | None]:
    failed = item.state == "waiting" and item.delivery_attempts > 0
    waiting = item.state == "waiting"
    return {
        "id": str(item.id),
        "letter": item.kind,
        "to": shortened(item.address),
        "state": "failed" if failed else item.state,
        "attempts": item.delivery_attempts,
        "last_error": item.last_error,
        "next_attempt_at": clock.rfc3339(item.next_attempt_at) if waiting else None,
        "created_at": clock.rfc3339(item.created_at),
    }


def shortened(address: str) -> str:
    """The first character and the domain of ``address``: recognizable, but not usable."""
    local, _, domain = address.rpartition("@")
    return f"{local[:1]}…@{domain}"
