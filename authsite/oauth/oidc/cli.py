"""``authsite keys …``"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import click

from authsite.platform.command_line.results import Data, Done, Listing, result_command
from authsite.platform.command_line.shared import examples, services_of, transaction
from authsite.platform.context import Context
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings

from .keys.rotation import InspectedKey, Rotated, RotationRefused, alone, inspect, remove, rotate
from .keys.stored import ALGORITHMS

_KID = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"  # in examples
_NAMES = ("kid", "alg", "state", "usable", "published", "created_at", "current_at", "previous_at")
_HEADINGS = {name.removesuffix("_at"): name for name in _NAMES}


@click.group()
def keys() -> None:
    """The keys that sign ID tokens."""


@keys.command("list", epilog=examples("authsite keys list", "authsite keys list --json"))
@result_command
def list_(cfg: Settings) -> Listing:
    """List the keys, without their private parts.

    Of each algorithm the one that signs is the first.

    A key that is not usable has a private part that no sealing-key opens.
    """
    with services_of(cfg) as services:
        rows = [_row(each) for each in inspect(services)]
    empty = "No keys yet. The service makes them when it starts with `openid` on."
    return Listing("keys", rows, len(rows), _HEADINGS, empty)


@keys.command("rotate", epilog=examples("authsite keys rotate", "authsite keys rotate --now"))
@click.option(
    "--now",
    is_flag=True,
    help="Also if clients may not know the next key yet; replace keys that are not usable.",
)
@result_command
def rotate_(cfg: Settings, now: bool) -> Done:
    """Let the next key of each algorithm sign.

    Another one is published as the next.

    What the former keys have signed stays valid until it expires. Processes of the service sign
    with the new keys after a minute. With --now clients that keep our keys may reject tokens until
    they read them again.
    """
    with _changing(cfg) as ctx:
        rotated = [rotate(ctx, alg, at_once=now) for alg in ALGORITHMS]
    text = "\n".join(f"{each.alg}: the key {each.current} signs from now on." for each in rotated)
    return Done(text, {"rotated": [_rotated(each) for each in rotated]})


@keys.command("remove", epilog=examples(f"authsite keys remove {_KID}"))
@click.argument("kid", metavar="KID")
@result_command
def remove_(cfg: Settings, kid: str) -> Done:
    """Delete a key that does not sign now.

    What it has signed becomes invalid.

    For a key that someone else may have. A next key is replaced at once.
    """
    with _changing(cfg) as ctx:
        removed = remove(ctx, kid)
    text = f"Removed. Clients that keep our keys may accept {removed.alg} tokens of it for a day."
    return Done(text, {"kid": removed.kid, "alg": removed.alg, "state": removed.state})


@contextmanager
def _changing(cfg: Settings) -> Iterator[Context]:
    """A transaction in which no other process changes keys; refusals become a `ClickException`."""
    with services_of(cfg) as services, alone(services.database) as acquired:
        if not acquired:
            raise click.ClickException("another process changes the keys: try again in a moment")
        try:
            with transaction(cfg) as ctx:
                yield ctx
        except RotationRefused as error:
            raise click.ClickException(str(error)) from None


def _row(key: InspectedKey) -> Data:
    def moment(at: datetime | None) -> str | None:
        return clock.rfc3339(at) if at else None

    return {
        "kid": key.kid,
        "alg": key.alg,
        "state": key.state,
        "usable": key.usable,
        "published": key.published,
        "created_at": moment(key.created_at),
        "current_at": moment(key.current_at),
        "previous_at": moment(key.previous_at),
    }


def _rotated(each: Rotated) -> Data:
    return {
        "alg": each.alg,
        "current": each.current,
        "previous": each.previous,
        "next": each.next,
    }
