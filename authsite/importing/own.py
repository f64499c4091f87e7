"""Users and clients of another authsite, from the file that ``authsite export`` has written."""

from collections.abc import Mapping

from authsite.oauth.models import CLIENT_TYPES

from .drafts import ClientDraft, Fault, UserDraft, moment, required, text

USERS, CLIENTS = "user", "client"  # the types of the lines


def user(row: Mapping[str, object]) -> UserDraft:
    """A line of the type ``user``. Raises `Fault`."""
    password = row.get("password")
    confirmed_at, disabled_at = moment(row, "email_verified_at"), moment(row, "disabled_at")
    return UserDraft(
        source_id=required(row, "id"),
        login_names={kind: text(row, kind) for kind in ("email", "username", "phone")},
        name=text(row, "name"),
        password=text(password, "hash") if isinstance(password, dict) else None,
        confirmed_at=confirmed_at,
        disabled=disabled_at is not None,
        created_at=moment(row, "created_at"),
        updated_at=moment(row, "updated_at"),
        disabled_at=disabled_at,
        terms=(text(row, "terms_url"), moment(row, "terms_accepted_at")),
    )


def client(row: Mapping[str, object]) -> ClientDraft:
    """A line of the type ``client``. Raises `Fault`."""
    listed = row.get("secrets") or []
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise Fault("secrets", "is no list of objects")
    secrets = [text(each, "hash") for each in listed]
    type_ = required(row, "client_type")
    if type_ not in CLIENT_TYPES:
        raise Fault("client_type", f"is none of {', '.join(CLIENT_TYPES)}")
    disabled_at = moment(row, "disabled_at")
    return ClientDraft(
        source_id=required(row, "id"),
        name=required(row, "name"),
        type=type_,
        secret=secrets[0] if secrets else None,
        scopes=(text(row, "scope") or "", text(row, "default_scope") or ""),
        disabled=disabled_at is not None,
        created_at=moment(row, "created_at"),
        updated_at=moment(row, "updated_at"),
        previous_secret=secrets[1] if len(secrets) > 1 else None,
        disabled_at=disabled_at,
    )
