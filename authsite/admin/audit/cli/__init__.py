"""``authsite audit …``, and ``authsite explain``."""

import click

from authsite.admin.audit.cli.seals import accept_late, verify

from .explaining import explain
from .listing import list_
from .logins import logins

__all__ = ["audit", "explain"]


@click.group()
def audit() -> None:
    """The audit trail."""


audit.add_command(list_)
audit.add_command(logins)
audit.add_command(verify)
audit.add_command(accept_late)
