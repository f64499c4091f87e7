"""Users and clients of a Laravel application with Passport, as Apiato has them."""

import json
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from authsite.oauth.client_secrets import hash_secret, scheme_of
from authsite.oauth.models import CLIENT_TYPES

from .row_values import ClientDraft, Fault, UserDraft, flag, moment, required, text

USERS, CLIENTS = "users", "oauth_clients"
# Secrets of Passport: 40 letters and digits. 40 hexadecimal digits are a SHA-1 hash.
_PLAIN = re.compile(r"(?![0-9A-Fa-f]{40}\Z)[A-Za-z0-9]{40}")
_HEX = re.compile(r"[0-9A-Fa-f]{64}")


class ClientOptions(NamedTuple):
    """What the rows do not say.

    ``scopes``: the type of a client -> what it may ask for. ``hex_secrets``: what a secret of 64
    hexadecimal digits is. ``with_redirect``: whether an old client with a redirect URL is one for
    client credentials.
    """

    scopes: Mapping[str, str]
    hex_secrets: Literal["sha256", "plain"] | None = None
    with_redirect: bool = False


def user(row: Mapping[str, object]) -> UserDraft:
    """A row of the table ``users`` (Laravel's own columns). Raises `Fault`."""
    if moment(row, "deleted_at"):
        raise Fault("deleted_at", "the user is deleted")
    return UserDraft(
        source_id=required(row, "id"),
        login_names={kind: text(row, kind) for kind in ("email", "username", "phone")},
        name=text(row, "name"),
        password=text(row, "password"),
        confirmed_at=moment(row, "email_verified_at"),
        created_at=moment(row, "created_at"),
        updated_at=moment(row, "updated_at"),
    )


def client(options: ClientOptions, row: Mapping[str, object]) -> ClientDraft:
    """A row of the table ``oauth_clients`` of any version of Passport. Raises `Fault`."""
    grants = _grants(row, options.with_redirect)
    type_ = _type(grants)
    return ClientDraft(
        source_id=required(row, "id"),
        name=required(row, "name"),
        type=type_,
        secret=_secret_hash(text(row, "secret"), options.hex_secrets),
        scopes=(options.scopes[type_], ""),
        disabled=flag(row, "revoked"),
        created_at=moment(row, "created_at"),
        updated_at=moment(row, "updated_at"),
        grant_types=_beyond_type(type_, grants),
    )


def _beyond_type(type_: str, grants: frozenset[str]) -> str | None:
    """The grant types of a client that has both grants of ours; None for any other client."""
    preset = CLIENT_TYPES[type_]
    more = sorted(grants & {"password", "client_credentials"} - set(preset))
    return " ".join((*preset, *more)) if more else None


def _secret_hash(secret: str | None, hex_secrets: Literal["sha256", "plain"] | None) -> str | None:
    """The hash of a stored secret. Raises `Fault` unless its form is one that Passport stores.

    If a hash were taken for a plain secret, anyone who has read the table could use the client.
    """
    if secret is None or scheme_of(secret) == "bcrypt":
        return secret
    if _PLAIN.fullmatch(secret):
        return hash_secret(secret)
    if not _HEX.fullmatch(secret):
        raise Fault(
            "secret",
            "has an unknown form, neither plain as Passport makes it, nor SHA-256 or bcrypt: give "
            "the client a new secret",
        )
    if hex_secrets is None:
        raise Fault(
            "secret",
            "has 64 hexadecimal digits: give  --client-secrets sha256  if they are a hash, or  "
            "--client-secrets plain  if applications send them",
        )
    return secret.lower() if hex_secrets == "sha256" else hash_secret(secret)


def _grants(row: Mapping[str, object], with_redirect: bool) -> frozenset[str]:
    """The grant types. Passport 13 lists them; before, two columns said what a client is for."""
    listed = text(row, "grant_types")
    if listed is not None:
        try:
            found = json.loads(listed)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, list):
            raise Fault("grant_types", "is not a JSON list")
        return frozenset(str(grant) for grant in found)
    if flag(row, "personal_access_client"):
        return frozenset(["personal_access"])
    if flag(row, "password_client"):
        return frozenset(["password"])
    if text(row, "redirect") and not with_redirect:
        raise Fault(
            "redirect",
            "is set, as for the authorization code grant, which authsite does not have: give  "
            "--clients-with-redirect  if such clients use client credentials",
        )
    return frozenset(["client_credentials"])


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
