"""Groups and their members, made by the services."""

from authsite.groups import members, service
from authsite.groups.service import GroupValues
from authsite.platform.audit.service import Cause
from tests.support.factors import context

CAUSE = Cause("command")


def in_group(site, user_id, *, scopes, level=None, name="payers"):
    """Make a group that binds ``scopes`` from ``level`` on, and the user a member."""
    with site.db() as db:
        ctx = context(site, db)
        service.create(ctx, name, GroupValues(name, scopes, level), CAUSE)
        members.add(ctx, name, user_id, CAUSE)
