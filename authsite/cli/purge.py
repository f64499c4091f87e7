"""``authsite purge``"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import click

from authsite.settings import Settings

from .shared import config_option, json_option, open_for, print_json


class Part(NamedTuple):
    """What is purged: how much there is to look at, and the batches that do it."""

    name: str
    label: str
    total: int
    batches: Iterator[tuple[int, int]]


@click.command()
@json_option
@config_option
def purge(cfg: Settings, as_json: bool) -> None:
    """Delete what can never be used again: tokens, sessions, counters, mails; in small batches."""
    deleted: dict[str, int] = {}
    with open_for(cfg) as database:
        for part in parts(database, cfg):
            deleted[part.name] = 0
            with click.progressbar(length=part.total, label=part.label, hidden=as_json) as bar:
                for seen, gone in part.batches:
                    deleted[part.name] += gone
                    bar.update(seen)
    if as_json:
        return print_json(deleted)
    click.echo(f"Deleted {sum(deleted.values())} rows.")


def parts(database: Any, cfg: Settings) -> Iterator[Part]:
    """Every room's purge, in turn."""
    from authsite import clock
    from authsite.login import purge as sessions
    from authsite.mail import purge as mails
    from authsite.oauth import purge as families
    from authsite.throttle import purge as counters

    now = clock.now()
    yield Part(
        "families", "Token families", families.count(database),
        families.purge(database, now, cfg),
    )  # fmt: skip
    yield Part("mails", "Mails", mails.count(database), mails.purge(database, now))
    for name, label, room in (
        ("sessions", "Web sessions", sessions),
        ("counters", "Counters of limits", counters),
    ):
        yield Part(name, label, room.count(database, now), room.purge(database, now))
