"""The keys of users in the rate limits."""

from uuid import UUID


def limit_subject(user_id: UUID) -> str:
    """The key of a user in the limits. No login name contains a blank, so none equals it."""
    return f"user {user_id}"
