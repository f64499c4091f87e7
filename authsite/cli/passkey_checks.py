"""The checks of ``authsite doctor`` about passkeys: their domain, and those of another one."""

from collections.abc import Iterator

from authsite.platform.settings import Settings

from .findings import Finding, line
from .shared import services_of

_SUBJECT = "passkey-rp-id"


def passkey_findings(cfg: Settings) -> Iterator[Finding]:
    """How many passkeys there are, and how many belong to another domain than the present one."""
    from sqlalchemy.exc import SQLAlchemyError

    from authsite.platform.settings.relying_party import passkey_obstacle, relying_party

    party, obstacle = relying_party(cfg), passkey_obstacle(cfg)
    if obstacle:
        yield line("passkeys-off", _SUBJECT, obstacle=obstacle)
    try:
        found = _count(cfg)
    except SQLAlchemyError:
        return  # the lines about the database say it
    own = found.pop(party.id, 0) if party else 0
    if party and own:
        yield line("passkeys-on", _SUBJECT, count=own, rp_id=party.id)
    if found:
        names = ", ".join(sorted(found))
        yield line("passkeys-foreign", _SUBJECT, count=sum(found.values()), found=names)


def _count(cfg: Settings) -> dict[str, int]:
    """How many passkeys belong to each domain."""
    import click
    from sqlalchemy import func, select

    from authsite.sign_in.methods.passkeys.models import Passkey

    query = select(Passkey.rp_id, func.count()).group_by(Passkey.rp_id)
    try:
        with services_of(cfg) as services, services.database.autocommit.connect() as connection:
            rows = connection.execute(query).tuples().all()
    except click.ClickException:
        return {}
    return dict(rows)
