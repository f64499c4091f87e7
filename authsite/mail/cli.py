"""``authsite mail …``"""

import logging
import signal
import threading
import uuid
from collections import Counter
from typing import Any

import click

from authsite import clock
from authsite.cli.shared import (
    config_option,
    config_path,
    json_option,
    print_json,
    print_table,
    settings_of,
    transaction,
)
from authsite.settings import Settings

from . import queue
from .models import Outgoing

SHOWN = 200


@click.group()
def mail() -> None:
    """The outbox of mails."""


@mail.command()
@click.option("--loop", is_flag=True, help="Go on until told to stop (SIGTERM).")
@click.option("--config", metavar="INI", help="Default: $AUTHSITE_CONFIG or development.ini.")
def send(config: str | None, loop: bool) -> None:
    """Send what is due now, or with --loop whatever comes."""
    from authsite.ops.logging import configure

    cfg = settings_of(config)
    configure(as_json=cfg.production)
    logging.getLogger("authsite.settings").setLevel(logging.ERROR)  # the server says these
    stop = threading.Event()
    for signal_ in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_, lambda *_: stop.set())  # the mail under way is finished
    sender = _sender(config)
    if loop:
        from .sender import run

        click.echo("Sending mail until told to stop (Ctrl-C).")
        return run(sender, stop)
    _send_due(sender, stop)


@mail.command("list")
@click.option("--limit", default=SHOWN, show_default=True, type=click.IntRange(1))
@json_option
@config_option
def list_(cfg: Settings, limit: int, as_json: bool) -> None:
    """List the letters that wait, failed or died; never their links."""
    with transaction(cfg) as db:
        total = queue.count(db)
        rows = [_facts(item) for item in queue.listing(db, limit)]
    if as_json:
        return print_json({"mails": rows, "total": total})
    print_table(
        ("id", "letter", "to", "state", "tries", "next try", "last error"),
        [
            (r["id"], r["letter"], r["to"], r["state"], str(r["attempts"]),
             r["next_attempt_at"] or "–", r["last_error"] or "–")
            for r in rows
        ],
        empty="No mail waits, and none is dead.",
    )  # fmt: skip
    if total > len(rows):
        click.echo(f"… and {total - len(rows)} more: --limit shows more of them.")


@mail.command()
@click.argument("mail_id", metavar="[ID]", required=False, type=click.UUID)
@click.option("--all", "every", is_flag=True, help="All dead letters.")
@config_option
def retry(cfg: Settings, mail_id: uuid.UUID | None, every: bool) -> None:
    """Give a dead letter, or with --all every one, another 24 hours."""
    if (mail_id is None) != every:
        raise click.UsageError("give the id of a dead letter (see `authsite mail list`), or --all")
    with transaction(cfg) as db:
        count = queue.retry(db, clock.now(), mail_id)
    if mail_id and not count:
        raise click.ClickException(
            f"no dead letter has the id {mail_id}; `authsite mail list` shows them"
        )
    click.echo(f"Tried again at the sender's next round: {count}.")


def _sender(config: str | None) -> Any:
    """A sender with every room's letters: the application is composed, but serves nothing."""
    import authsite
    from authsite.settings import read_ini

    from .sender import open_sender

    application: Any = authsite.compose(read_ini(config_path(config)))  # type: ignore[no-untyped-call]
    return open_sender(application.registry)


def _send_due(sender: Any, stop: threading.Event) -> None:
    from sqlalchemy.exc import SQLAlchemyError

    from .sender import send_batch
    from .transports import Unreachable

    done: Counter[str] = Counter()
    try:
        while send_batch(sender, stop, done) and not stop.is_set():
            pass
    except Unreachable as error:
        raise click.ClickException(
            f"no mail can leave now: {error}\nNothing is lost; the letters wait. Check "
            f"authsite.{'mail-folder' if sender.cfg.mail_driver == 'file' else 'smtp-url'}."
        ) from None
    except SQLAlchemyError as error:
        cause = str(getattr(error, "orig", error)).strip().splitlines()[0]
        raise click.ClickException(
            f"the database did not do it: {cause}\nIs it reachable, and was `authsite db upgrade` "
            "run on it?"
        ) from None
    finally:
        words = {"sent": "sent", "waiting": "to be tried again", "dead": "dead",
                 "expired": "dropped"}  # fmt: skip
        click.echo(", ".join(f"{done[state]} {word}" for state, word in words.items()))


def _facts(item: Outgoing) -> dict[str, Any]:
    failed = item.state == "waiting" and item.attempts > 0
    waiting = item.state == "waiting"
    return {
        "id": str(item.id),
        "letter": item.letter,
        "to": shortened(item.address),
        "state": "failed" if failed else item.state,
        "attempts": item.attempts,
        "last_error": item.last_error,
        "next_attempt_at": clock.rfc3339(item.next_attempt_at) if waiting else None,
        "created_at": clock.rfc3339(item.created_at),
    }


def shortened(address: str) -> str:
    """An address as a list may show it: enough to recognise, too little to collect."""
    local, _, domain = address.rpartition("@")
    return f"{local[:1]}…@{domain}"
