"""Users and clients of a Laravel application with Passport, as Apiato has them."""

import json
from collections.abc import Mapping

from .drafts import ClientDraft, Fault, UserDraft, flag, moment, required, text

USERS, CLIENTS = "users", "oauth_clients"


def user(row: Mapping[str, object]) -> UserDraft:
    """A row of the table ``users`` (Laravel's own columns). Raises `Fault`."""
    if moment(row, "deleted_at"):
        raise Fault("deleted_at", "the user is deleted")
    return UserDraft(
        source_id=required(row, "id"),
        login_names={kind: text(row, kind) for kind in ("email", "username", "phone")},
        name=text(row, "name"),
        password=text(row, "password"),
        confirmed=False,
        confirmed_at=moment(row, "email_verified_at"),
        disabled=False,
        created_at=moment(row, "created_at"),
        updated_at=moment(row, "updated_at"),
    )


def client(row: Mapping[str, object]) -> ClientDraft:
    """A row of the table ``oauth_clients`` of any version of Passport. Raises `Fault`."""
    return ClientDraft(
        source_id=required(row, "id"),
        name=required(row, "name"),
        type=_type(_grants(row)),
        secret=text(row, "secret"),
        disabled=flag(row, "revoked"),
        created_at=moment(row, "created_at"),
        updated_at=moment(row, "updated_at"),
    )


def _grants(row: Mapping[str, object]) -> frozenset[str]:
    """The grant types. Passport 13 lists them; before, two columns said what a client is for."""
    listed = text(row, "grant_types")
    if listed is not None:
        try:
            found = json.loads(listed)
        except ValueError:
            found = None
        if not isinstance(found, list):
            raise Fault("grant_types", "is no JSON list")
        return frozenset(str(grant) for grant in found)
    if flag(row, "personal_access_client"):
        return frozenset(["personal_access"])
    return frozenset(["password" if flag(row, "password_client") else "client_credentials"])


def _type(grants: frozenset[str]) -> str:
    """The type of a client with these grants. Raises `Fault`."""
    if "password" in grants:
        return "password"
    if "client_credentials" in grants:
        return "personal"
    if "personal_access" in grants:
        raise Fault(
            None,
            "is Passport's own client for personal access tokens, which authsite does not need",
        )
    names = ", ".join(sorted(grants)) or "none"
    raise Fault(
        "grant_types", f"authsite has the grants password and client_credentials, not {names}"
    )
