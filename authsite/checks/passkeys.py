"""The checks of ``authsite doctor`` about passkeys: their domain, and those of another one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from authsite.platform.finding import Finding

from .findings import line

if TYPE_CHECKING:
    from authsite.platform.context import Services

_SUBJECT = "passkey-rp-id"


def passkey_findings(services: "Services", *, counts: bool = True) -> Iterator[Finding]:
    """How many passkeys there are, and how many belong to another domain than the present one.

    Without ``counts`` only whether there can be any.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.platform.settings.relying_party import passkey_obstacle, relying_party

    cfg = services.settings
    party, obstacle = relying_party(cfg), passkey_obstacle(cfg)
    if obstacle:
        yield line("passkeys-off", _SUBJECT, obstacle=obstacle)
    if not counts:
        return
    try:
        found = _count(services)
    except SQLAlchemyError:
        return  # the lines about the database say it
    own = found.pop(party.id, 0) if party else 0
    if party and own:
        yield line("passkeys-on", _SUBJECT, count=own, rp_id=party.id)
    if found:
        names = ", ".join(sorted(found))
        yield line("passkeys-foreign", _SUBJECT, count=sum(found.values()), found=names)


def _count(services: "Services") -> dict[str, int]:
    """How many passkeys belong to each domain."""
    from sqlalchemy import func, select

    from authsite.sign_in.methods.passkeys.models import Passkey

    query = select(Passkey.rp_id, func.count()).group_by(Passkey.rp_id)
    with services.database.autocommit.connect() as connection:
        return dict(connection.execute(query).tuples().all())
