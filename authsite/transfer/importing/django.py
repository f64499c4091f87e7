"""Users of a Django project (``django.contrib.auth``)."""

from collections.abc import Mapping

from .row_values import UserDraft, flag, moment, required, text

USERS = "auth_user"


def user(row: Mapping[str, object]) -> UserDraft:
    """A row of ``auth_user``, or of a user model with its columns. Raises `Fault`.

    Django does not know which addresses are confirmed: see the option --confirmed.
    """
    names = (text(row, "first_name"), text(row, "last_name"))
    return UserDraft(
        source_id=required(row, "id"),
        login_names={kind: text(row, kind) for kind in ("email", "username", "phone")},
        name=text(row, "name") or " ".join(filter(None, names)) or None,
        password=_password(text(row, "password")),
        disabled=not flag(row, "is_active", default=True),
        created_at=moment(row, "date_joined"),
    )


def _password(stored: str | None) -> str | None:
    """Without an unusable password, which Django marks with an exclamation mark."""
    return None if stored is None or stored.startswith("!") else stored
