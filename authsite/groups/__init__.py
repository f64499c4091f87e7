"""What administrators do with groups: create and change them, and decide who is in them."""

from typing import TYPE_CHECKING

from . import members
from .applying import TASK
from .members import USER_DATA

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The tables of groups, the mails to the owners, and the task for large groups."""
    config.add_user_data(*USER_DATA)
    for name, builder in members.BUILDERS.items():
        config.add_mail_builder(name, builder)
    config.add_background_task(
        TASK,
        "authsite.groups.applying.make_job",
        enabled=config.registry["authsite"].settings.janitor,
    )
