"""Users: who they are, and their passwords."""

from typing import Any

from . import mails


def includeme(config: Any) -> None:
    """The mails about users."""
    for name, builder in mails.BUILDERS.items():
        config.add_mail_builder(name, builder)
