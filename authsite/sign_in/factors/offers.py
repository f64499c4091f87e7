"""What the settings let users add, and the proof with which they add it."""

from datetime import datetime
from typing import NamedTuple

from authsite.platform.settings import Settings


class Proved(NamedTuple):
    """What a user has proved before a change of the factors: how (``amr``), and when."""

    amr: tuple[str, ...]
    at: datetime


def can_keep_secrets(settings: Settings) -> bool:
    """Whether authenticator apps and recovery codes can be made.

    In production that needs a `sealing-key`: one that the secret derives would be lost with it.
    """
    return bool(settings.sealing_key) or not settings.production
