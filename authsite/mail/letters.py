"""What a room hands over when one of its letters is to be sent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from authsite.db import Database
from authsite.settings import Settings

from .leases import Claimed


@dataclass(frozen=True, slots=True)
class Desk:
    """What a letter is made from: the row of the outbox, and where everything else is found."""

    database: Database
    cfg: Settings
    mail: Claimed
    now: datetime


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter: its templates ``<template>.txt`` and ``.html``, and the values only it knows.

    ``link`` is where its button leads. ``name`` is what the user calls themself; the rendering
    tames it. All else (site, address, lifetime, date) comes from the settings and the row.
    """

    template: str
    link: str | None = None
    name: str | None = None


# Called right before sending. None: nobody needs it any more, such as a confirmed address.
Make = Callable[[Desk], Letter | None]
Letters = Mapping[str, Make]
