"""Under which key the attempts at a pending login are counted."""

from authsite.platform.rate_limit.recognized import Owner

from .credentials import owner_of_user
from .method import Pending


def attempts_of(pending: Pending) -> tuple[Owner, str]:
    """Who is recognized, and under which key the attempts are counted.

    While nothing is proved, that is the name, which may be of no user: a count for all names of a
    user would reveal that they belong to one, and would lock out the user who knows the password.
    """
    name = f"name {pending.name_hash or pending.id}"
    if pending.account is None:
        return Owner(name), name
    owner = owner_of_user(pending.account.id, pending.recognition_version)
    return owner, owner.key if pending.amr else name
