"""An invitation to a group gives what the group gives: it needs the proof that a membership needs.

The owner of the address may be a user already, who becomes a member by accepting it.
"""

from authsite.admin.guard import administrator_for
from authsite.platform.request_state import Request
from authsite.users.groups.reserved import is_reserved


def require_recent_for(request: Request, group: str | None, *, confirming: bool = False) -> None:
    """Ask for a proof of the last ten minutes before an invitation to ``group``.

    Raises what `administrator_for` raises. ``confirming``: see there. A reserved group, to which
    there are no invitations, is refused by the service.
    """
    if group and not is_reserved(group):
        administrator_for(request, "groups:write", recent=True, confirming=confirming)
