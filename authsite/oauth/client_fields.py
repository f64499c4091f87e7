"""What a client has besides its name, type and scopes, by the names of RFC 7591 where it has one.

Most of it is for clients that sign people in with a code. A value of None leaves a field as it is,
and an empty one removes it.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from authsite.platform.context import Context
from authsite.platform.i18n import _
from authsite.platform.settings import files_of, is_file_name
from authsite.platform.settings.durations import duration, format_duration

from . import client_groups, client_uris, redirect_uris, resources
from .invalid_value import InvalidValue
from .models import BROWSER, CODE_TYPES, SERVER, Client, grant_types_of

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
    id_token_lifetime: int | None = None
    """In seconds; 0 for the setting `id-token-expires-in`."""
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
    """The fields that mean something for a client of this type."""
    if client.type in CODE_TYPES:
        return ClientFields._fields
    grants = grant_types_of(client.type, client.grant_types)
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


def apply(ctx: Context, client: Client, fields: ClientFields) -> None:
    """Give a client the ``fields``, in the transaction of ``ctx``.

    Raises ValueError, with what to do, for a field that its type does not have, and for a value
    that it cannot have. The caller raises the client's epoch if ``first_party`` changes.
    """
    given = {name: value for name, value in fields._asdict().items() if value is not None}
    for name in given:
        if name not in names_for(client):
            raise InvalidValue(
                _(
                    "a client of type ${type} has no ${name}: it is for the types ${types}",
                    mapping={"type": client.type, "name": name, "types": ", ".join(CODE_TYPES)},
                )
            )
    _set_switches(client, fields)
    _set_id_token(client, fields)
    _set_links(ctx, client, fields)
    if fields.require_group is not None:
        if fields.require_group:
            client_groups.require_existing(ctx.db, fields.require_group)
        client.require_group = fields.require_group or None
    if fields.default_resource is not None:
        client.default_resource = _resource(ctx, fields.default_resource)
    _set_uris(ctx, client, fields)


def shown(client: Client, uris: client_uris.Uris) -> dict[str, object]:
    """The fields that a client of this type has; ``uris``: see `client_uris.of`."""
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


def _set_switches(client: Client, fields: ClientFields) -> None:
    if fields.first_party is not None:
        client.first_party = fields.first_party
    if fields.consent is not None:
        chosen = _one_of("consent", fields.consent or CONSENT[0], CONSENT)
        client.no_consent = chosen == "none"
    if fields.require_confirmed is not None:
        client.require_confirmed = fields.require_confirmed
    if fields.pkce is not None:
        client.pkce_optional = _one_of("pkce", fields.pkce, PKCE) == "optional"
        if client.pkce_optional and client.type != SERVER:
            raise InvalidValue(
                _(
                    "pkce is required for a client of type ${type}: only one of type ${server},"
                    " which has a secret, can do without",
                    mapping={"type": client.type, "server": SERVER},
                )
            )


def _set_id_token(client: Client, fields: ClientFields) -> None:
    if fields.id_token_signed_response_alg is not None:
        name = "id_token_signed_response_alg"
        chosen = _one_of(name, fields.id_token_signed_response_alg or ALGORITHMS[0], ALGORITHMS)
        client.id_token_alg = None if chosen == ALGORITHMS[0] else chosen
    if fields.id_token_lifetime is not None:
        if not 0 <= fields.id_token_lifetime <= MAX_LIFETIME:
            raise InvalidValue(
                _("give 1 to ${number} seconds", mapping={"number": str(MAX_LIFETIME)}),
                "id_token_lifetime",
            )
        client.id_token_lifetime = fields.id_token_lifetime or None
    if fields.id_token_claims is not None:
        default = default_claims(client.type)
        chosen = _one_of("id_token_claims", fields.id_token_claims or default, CLAIMS)
        client.claims_in_id_token = chosen == "both"


def _set_links(ctx: Context, client: Client, fields: ClientFields) -> None:
    if fields.logo is not None:
        client.logo = _logo(ctx, fields.logo)
    for name in ("policy_uri", "tos_uri"):
        value = getattr(fields, name)
        if value is not None:
            setattr(client, name, redirect_uris.web_uri(value) if value else None)


def _set_uris(ctx: Context, client: Client, fields: ClientFields) -> None:
    if fields.origins and client.type != BROWSER:
        raise InvalidValue(
            _(
                "origins are for clients of type ${browser}: no page calls the token endpoint"
                " for one of type ${type}",
                mapping={"browser": BROWSER, "type": client.type},
            )
        )
    allowed = redirect_uris.allowed_by(ctx.settings)
    for name, kind in client_uris.KINDS.items():
        uris = getattr(fields, name)
        if uris is not None:
            client_uris.replace(ctx.db, client, kind, uris, allowed)


def _logo(ctx: Context, name: str) -> str | None:
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


def _resource(ctx: Context, uri: str) -> str | None:
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
