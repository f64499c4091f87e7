"""Users of any other system, as a table with our own names of columns."""

from collections.abc import Mapping

from .row_values import UserDraft, flag, moment, required, text

USERS = "users"


def user(row: Mapping[str, object]) -> UserDraft:
    """A row of the table. Only ``email`` is required. Raises `Fault`."""
    return UserDraft(
        source_id=text(row, "id") or required(row, "email").lower(),
        login_names={kind: text(row, kind) for kind in ("email", "username", "phone")},
        name=text(row, "name"),
        password=text(row, "password_hash"),
        confirmed=flag(row, "confirmed") or None,
        confirmed_at=moment(row, "email_verified_at"),
        disabled=flag(row, "disabled"),
        created_at=moment(row, "created_at"),
        updated_at=moment(row, "updated_at"),
    )
