"""What a client has besides its name, type and scopes, by the names of RFC 7591 where it has one.

Most of it is for clients that sign people in with a code. A value of None leaves a field as it is,
and an empty one removes it.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from authsite.oauth import resources
from authsite.oauth.errors import InvalidValue, errors_of, require_valid
from authsite.oauth.models import (
    BROWSER,
    CODE_TYPES,
    ORIGIN,
    POST_LOGOUT,
    REDIRECT,
    SERVER,
    UNVERIFIED_TYPES,
    Client,
    grant_types_of,
)
from authsite.platform.context import Context
from authsite.platform.i18n import _
from authsite.platform.runtime import clock
from authsite.platform.settings import files_of, is_file_name
from authsite.platform.settings.values import ADMIN_PREFIX, duration, format_duration, is_admin

from . import groups, redirect_uris
from . import uris as client_uris

PKCE = ("required", "optional")
CONSENT = ("ask", "none")
ALGORITHMS = ("RS256", "ES256")  # RFC 7518; the first is the default
CLAIMS = ("userinfo", "both")
MAX_LIFETIME = 86400  # seconds


class ClientFields(NamedTuple):
    """The fields of a client that a caller gives; see `oauth.models.Client`."""

    redirect_uris: Sequence[str] | None = None
    post_logout_redirect_uris: Sequence[str] | None = None
    origins: Sequence[str] | None = None
    first_party: bool | None = None
    consent: str | None = None
    pkce: str | None = None
    id_token_signed_response_alg: str | None = None
    id_token_lifetime: int | str | None = None
    """In seconds, or a text for `seconds_of`; 0 for the setting `id-token-expires-in`."""
    id_token_claims: str | None = None
    require_confirmed: bool | None = None
    require_group: str | None = None
    default_resource: str | None = None
    logo: str | None = None
    policy_uri: str | None = None
    tos_uri: str | None = None


NO_FIELDS = ClientFields()


def default_claims(client_type: str) -> str:
    """Where a new client of this type gets the claims of the user; see `CLAIMS`.

    Many applications on a server and in a browser read the ID token alone. A program stores it, and
    asks the userinfo endpoint for what changes.
    """
    return "both" if client_type in (SERVER, BROWSER) else "userinfo"


_OF_EVERY_TOKEN = ("default_resource",)
_OF_EVERY_LOGIN = ("require_group", *_OF_EVERY_TOKEN)


def names_for(client: Client) -> tuple[str, ...]:
    """The fields that mean something for this client."""
    return _names(client.type, client.grant_types)


def _names(client_type: str, grant_types: str | None = None) -> tuple[str, ...]:
    if client_type in CODE_TYPES:
        return ClientFields._fields
    grants = grant_types_of(client_type, grant_types)
    if "password" in grants:
        return _OF_EVERY_LOGIN
    return _OF_EVERY_TOKEN if grants else ()


_parse_lifetime = duration(timedelta(seconds=MAX_LIFETIME), zero=True)


def seconds_of(text: str) -> int:
    """The seconds of a lifetime: of a duration or a number; 0 for an empty text.

    Raises `InvalidValue`.
    """
    try:
        return int(_parse_lifetime(f"{text}s" if text.isdigit() else text or "0s").total_seconds())
    except ValueError:
        most = {"most": format_duration(timedelta(seconds=MAX_LIFETIME))}
        message = _("give a duration such as 90s, 15m or 12h: at most ${most}", mapping=most)
        raise InvalidValue(message) from None


def readable(fields: ClientFields) -> ClientFields:
    """``fields`` with a lifetime in seconds, where its text can be read."""
    text = fields.id_token_lifetime
    if not isinstance(text, str):
        return fields
    try:
        return fields._replace(id_token_lifetime=seconds_of(text))
    except InvalidValue:
        return fields


def apply(ctx: Context, client: Client, fields: ClientFields) -> None:
    """Give a client the ``fields``, in the transaction of ``ctx``.

    Raises ValueError, with what to do, for fields that its type does not have, and for values that
    it cannot have: `InvalidValue`, or `InvalidValues` with all of them. The caller raises the
    client's epoch if ``first_party`` changes.
    """
    require_valid(errors_of_fields(ctx, client.type, fields, client.grant_types))
    for name, value in _given(fields).items():
        stored = _READERS[name](ctx, client.type, value)
        if name in client_uris.KINDS:
            allowed = redirect_uris.allowed_by(ctx.settings)
            client_uris.replace(ctx.db, client, client_uris.KINDS[name], value, allowed)
        else:
            setattr(client, _COLUMNS.get(name, name), stored)


def errors_of_fields(
    ctx: Context, client_type: str, fields: ClientFields, grant_types: str | None = None
) -> list[InvalidValue]:
    """What `apply` finds wrong with the fields of a client of this type, one error for each."""
    names = _names(client_type, grant_types)

    def check(name: str, value: object) -> None:
        if name not in names:
            raise InvalidValue(
                _(
                    "a client of type ${type} has no ${name}: it is for the types ${types}",
                    mapping={"type": client_type, "name": name, "types": ", ".join(CODE_TYPES)},
                )
            )
        _READERS[name](ctx, client_type, value)

    return errors_of({name: partial(check, name, it) for name, it in _given(fields).items()})


def _given(fields: ClientFields) -> dict[str, Any]:
    return {name: value for name, value in fields._asdict().items() if value is not None}


def shown(client: Client, uris: client_uris.Uris) -> dict[str, object]:
    """The fields that a client of this type has; ``uris``: see `uris.of`."""
    values: dict[str, object] = {
        name: list(uris.get((client.id, kind), ())) for name, kind in client_uris.KINDS.items()
    }
    values |= {
        "first_party": client.first_party,
        "consent": CONSENT[bool(client.no_consent)],
        "pkce": PKCE[bool(client.pkce_optional)],
        "id_token_signed_response_alg": client.id_token_alg or ALGORITHMS[0],
        "id_token_lifetime": client.id_token_lifetime,
        "id_token_claims": CLAIMS[bool(client.claims_in_id_token)],
    }
    columns = ("require_confirmed", "require_group", "default_resource", "logo")
    for name in (*columns, "policy_uri", "tos_uri"):
        values[name] = getattr(client, name)
    return {name: values[name] for name in names_for(client)}


def _as_it_is(_ctx: Context, _type: str, value: object) -> object:
    return value


def _no_consent(_ctx: Context, _type: str, value: str) -> bool:
    return _one_of("consent", value or CONSENT[0], CONSENT) == "none"


def _pkce_optional(_ctx: Context, client_type: str, value: str) -> bool:
    optional = _one_of("pkce", value, PKCE) == "optional"
    if optional and client_type != SERVER:
        raise InvalidValue(
            _(
                "pkce is required for a client of type ${type}: only one of type ${server},"
                " which has a secret, can do without",
                mapping={"type": client_type, "server": SERVER},
            )
        )
    return optional


def _algorithm(_ctx: Context, _type: str, value: str) -> str | None:
    chosen = _one_of("id_token_signed_response_alg", value or ALGORITHMS[0], ALGORITHMS)
    return None if chosen == ALGORITHMS[0] else chosen


def _lifetime(_ctx: Context, _type: str, value: int | str) -> int | None:
    seconds = seconds_of(value) if isinstance(value, str) else value
    if not 0 <= seconds <= MAX_LIFETIME:
        raise InvalidValue(
            _("give 1 to ${number} seconds", mapping={"number": str(MAX_LIFETIME)}),
            "id_token_lifetime",
        )
    return seconds or None


def _claims_in_id_token(_ctx: Context, client_type: str, value: str) -> bool:
    return _one_of("id_token_claims", value or default_claims(client_type), CLAIMS) == "both"


def _group(ctx: Context, _type: str, name: str) -> str | None:
    if name:
        groups.require_existing(ctx.db, name)
    return name or None


def _page(_ctx: Context, _type: str, value: str) -> str | None:
    return redirect_uris.web_uri(value) if value else None


def _uris(kind: str, ctx: Context, client_type: str, uris: Sequence[str]) -> list[str]:
    allowed = redirect_uris.allowed_by(ctx.settings)
    return client_uris.wanted_of(kind, uris, client_type, allowed)


def _origins(ctx: Context, client_type: str, uris: Sequence[str]) -> list[str]:
    if uris and client_type != BROWSER:
        raise InvalidValue(
            _(
                "origins are for clients of type ${browser}: no page calls the token endpoint"
                " for one of type ${type}",
                mapping={"browser": BROWSER, "type": client_type},
            )
        )
    return _uris(ORIGIN, ctx, client_type, uris)


def _logo(ctx: Context, _type: str, name: str) -> str | None:
    """The name of one of the site's own files: a page of ours loads no other pictures."""
    if not name:
        return None
    folder = ctx.settings.static_folder
    if not folder:
        raise InvalidValue(_("set static-folder to the folder with the logo, whose name you give"))
    if not is_file_name(name) or name not in files_of(folder):
        raise InvalidValue(
            _(
                "there is no file ${name} in static-folder (${folder}): put it there",
                mapping={"name": name, "folder": folder},
            )
        )
    return name


def _resource(ctx: Context, _type: str, uri: str) -> str | None:
    if not uri:
        return None
    found = resources.find_row(ctx, uri)
    if found is None:
        raise InvalidValue(
            _(
                "there is no resource ${uri}: register it with `authsite resource add`",
                mapping={"uri": uri},
            )
        )
    return found.uri


def _one_of(name: str, value: str, words: Sequence[str]) -> str:
    if value not in words:
        raise InvalidValue(_("give one of ${words}", mapping={"words": ", ".join(words)}), name)
    return value


Reader = Callable[[Context, str, Any], Any]
"""From a value for a client of a type to the one that is stored. Raises ValueError."""
_READERS: Mapping[str, Reader] = {
    "redirect_uris": partial(_uris, REDIRECT),
    "post_logout_redirect_uris": partial(_uris, POST_LOGOUT),
    "origins": _origins,
    "first_party": _as_it_is,
    "consent": _no_consent,
    "pkce": _pkce_optional,
    "id_token_signed_response_alg": _algorithm,
    "id_token_lifetime": _lifetime,
    "id_token_claims": _claims_in_id_token,
    "require_confirmed": _as_it_is,
    "require_group": _group,
    "default_resource": _resource,
    "logo": _logo,
    "policy_uri": _page,
    "tos_uri": _page,
}
_COLUMNS = {
    "consent": "no_consent",
    "pkce": "pkce_optional",
    "id_token_signed_response_alg": "id_token_alg",
    "id_token_claims": "claims_in_id_token",
}


# What commands and the API say of a client; never its secrets.


def facts_of(client: Client, uris: client_uris.Uris) -> dict[str, object]:
    """The fields of a client; ``uris``: see `uris.of`. All values fit into JSON.

    One that no administrator has registered has ``verified`` false, and what it says of itself.
    """
    secrets = (client.secret_hash, client.previous_secret_hash)
    unverified = client.type in UNVERIFIED_TYPES
    about_itself = {
        "verified": False,
        "document": client.document_uri,
        "client_uri": client.client_uri,
        "used_at": clock.rfc3339(client.used_at) if client.used_at else None,
    }
    return {
        "client_id": str(client.id),
        "name": client.name,
        "type": client.type,
        "grant_types": list(grant_types_of(client.type, client.grant_types)),
        "scope": client.scope,
        "default_scope": client.default_scope,
        "secrets": len([secret for secret in secrets if secret]),
        "enabled": client.disabled_at is None,
        "created_at": clock.rfc3339(client.created_at),
        **(about_itself if unverified else {}),
        **shown(client, uris),
    }


# Clients that act for themselves with scopes of administrators.
#
# An owner gives them these scopes, and sees their secrets. They belong to the installation, not
# to that owner, and stay when the owner goes: the pages and the command that take the role away
# name them.


MOST = 1000  # clients that are read


class AdministeringClient(NamedTuple):
    """An enabled client that may do something as an administrator."""

    id: uuid.UUID
    name: str


def administering_clients(db: Session) -> Sequence[AdministeringClient]:
    """The enabled clients that have scopes of administrators, the oldest first."""
    query = (
        select(Client.id, Client.name, Client.scope)
        .where(Client.type == "personal", Client.disabled_at.is_(None))
        .where(Client.scope.contains(ADMIN_PREFIX, autoescape=True))
        .order_by(Client.created_at, Client.id)
    )
    return [
        AdministeringClient(id_, name)
        for id_, name, scope in db.execute(query.limit(MOST))
        if any(map(is_admin, scope.split()))
    ]
