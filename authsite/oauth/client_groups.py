"""Stand-in."""

from authsite.users.account import Account


def is_allowed(account: Account, require_group: str | None, acr: str | None = None) -> bool:
    """Whether the user is in the group."""
    return require_group is None or require_group in (account.labels or "").split()
