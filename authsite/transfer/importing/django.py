"""Users of a Django project (``django.contrib.auth``)."""

from collections.abc import Mapping
from functools import partial

from authsite.sign_in.identifiers import normalized_key

from .row_values import Fault, UserDraft, flag, moment, required, text
from .rows import Source
from .temporary import new_table
from .users import ReadDraft

USERS = "auth_user"
ADDRESSES = "account_emailaddress"


def user_reader(users_table: str, source: Source) -> ReadDraft:
    """What reads a row of ``users_table``, with what the source says of addresses.

    Django itself does not know which ones are confirmed. django-allauth does, in a table that is
    read here: there ``verified`` decides, and an address without a row is not confirmed.
    """
    schema = users_table.rpartition(".")[0]
    names = (f"{schema}.{ADDRESSES}" if schema else ADDRESSES, ADDRESSES)
    table = next((name for name in names if source.has(name)), None)
    return partial(user, _Verified(source, table) if table else None)


class _Verified:
    """The verified addresses of users, in a temporary file."""

    def __init__(self, source: Source, table: str) -> None:
        self._file = new_table("addresses (user TEXT, key TEXT, PRIMARY KEY (user, key))")
        for row in source.rows(table):
            try:
                if row.fault is None and flag(row.values, "verified"):
                    address = required(row.values, "user_id"), _key(required(row.values, "email"))
                    self._file.execute("INSERT OR IGNORE INTO addresses VALUES (?, ?)", address)
            except Fault:
                continue  # an address that cannot be read confirms nothing

    def has(self, user_id: str, email: str | None) -> bool:
        """Whether the user has confirmed the address."""
        query = "SELECT 1 FROM addresses WHERE user = ? AND key = ?"
        return bool(email and self._file.execute(query, (user_id, _key(email))).fetchone())


def _key(email: str) -> str:
    return normalized_key("email", email)


def user(verified: _Verified | None, row: Mapping[str, object]) -> UserDraft:
    """A row of ``auth_user``, or of a user model with its columns. Raises `Fault`."""
    names = (text(row, "first_name"), text(row, "last_name"))
    id_, email = required(row, "id"), text(row, "email")
    return UserDraft(
        source_id=id_,
        login_names={"email": email, **{kind: text(row, kind) for kind in ("username", "phone")}},
        name=text(row, "name") or " ".join(filter(None, names)) or None,
        password=_password(text(row, "password")),
        confirmed=verified.has(id_, email) if verified else None,
        disabled=not flag(row, "is_active", default=True),
        created_at=moment(row, "date_joined"),
    )


def _password(stored: str | None) -> str | None:
    """Without an unusable password, which Django marks with an exclamation mark."""
    return None if stored is None or stored.startswith("!") else stored
