"""Users and clients of a Laravel application with Passport, as Apiato has them."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from authsite.oauth.clients.authentication import hash_secret, scheme_of
from authsite.oauth.models import BROWSER, CLIENT_TYPES, CODE_TYPES, NATIVE, SERVER

from .rows import ClientDraft, Fault, UserDraft, flag, moment, required, text

USERS, CLIENTS = "users", "oauth_clients"
# Secrets of Passport: 40 letters and digits. 40 hexadecimal digits are a SHA-1 hash.
_PLAIN = re.compile(r"(?![0-9A-Fa-f]{40}\Z)[A-Za-z0-9]{40}")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_HEX = re.compile(r"[0-9A-Fa-f]{64}")


class ClientOptions(NamedTuple):
    """What the rows do not say.

    ``scopes``: the type of a client -> what it may ask for. ``hex_secrets``: what a secret of 64
    hexadecimal digits is. ``with_redirect``: whether an old client with a redirect URL is one for
    client credentials; otherwise it is one for authorization codes.
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
    secret, uris = text(row, "secret"), _redirect_uris(row)
    if "authorization_code" in grants and "password" not in grants and not uris:
        column = "redirect_uris" if "redirect_uris" in row else "redirect"
        raise Fault(column, "is missing, which the authorization code grant needs")
    type_ = _type(grants, secret, uris)
    return ClientDraft(
        source_id=required(row, "id"),
        name=required(row, "name"),
        type=type_,
        secret=_secret_hash(secret, options.hex_secrets),
        scopes=(options.scopes[type_], ""),
        disabled=flag(row, "revoked"),
        created_at=moment(row, "created_at"),
        updated_at=moment(row, "updated_at"),
        grant_types=_beyond_type(type_, grants),
        # Passport asks for PKCE where there is no secret.
        columns={"pkce_optional": type_ == SERVER},
        uris=uris if type_ in CODE_TYPES else (),
    )


def _redirect_uris(row: Mapping[str, object]) -> tuple[str, ...]:
    """The redirect URLs: a list of JSON, or before Passport 13 separated by commas."""
    listed = text(row, "redirect_uris")
    if listed is None:
        each = (uri.strip() for uri in (text(row, "redirect") or "").split(","))
        return tuple(dict.fromkeys(uri for uri in each if uri))
    try:
        uris = json.loads(listed)
    except (ValueError, RecursionError):
        uris = None
    if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
        raise Fault("redirect_uris", "is not a JSON list of texts")
    return tuple(dict.fromkeys(uris))


def _beyond_type(type_: str, grants: frozenset[str]) -> str | None:
    """The grant types of a client that has both grants of ours; None for any other client."""
    if type_ in CODE_TYPES:  # whose tokens would count as those of a first party
        return None
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
        return frozenset(["authorization_code"])
    return frozenset(["client_credentials"])


def _type(grants: frozenset[str], secret: str | None, uris: Sequence[str]) -> str:
    """The type of a client with these grants. Raises `Fault`."""
    if "password" in grants:
        return "password"
    if "authorization_code" in grants:
        return SERVER if secret else _public_type(uris)
    if "client_credentials" in grants:
        return "personal"
    if "personal_access" in grants:
        raise Fault(
            None,
            "is Passport's own client for personal access tokens, which authsite does not need",
        )
    names = ", ".join(sorted(grants)) or "none"
    raise Fault(
        "grant_types",
        f"has none that is imported (password, authorization_code, client_credentials): {names}",
    )


def _public_type(uris: Sequence[str]) -> str:
    """`BROWSER` for a client of web pages, and `NATIVE` for an app (RFC 8252, section 7)."""
    hosts = [urlsplit(uri).hostname for uri in uris if uri.startswith(("https://", "http://"))]
    on_the_web = all(host not in _LOOPBACK for host in hosts)
    return BROWSER if on_the_web and len(hosts) == len(uris) else NATIVE
