"""The resources that tokens can be for (RFC 8707): which one a request means, and its scopes.

A resource is known by its URI. Scheme and host are compared without case, and an empty path is the
path ``/``: clients add or leave out the slash. Everything else is compared letter by letter. The
audience of a token is the URI as it was registered.
"""

import re
import uuid
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, func, select

from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.db.prepared import columns_of
from authsite.platform.i18n import _
from authsite.platform.runtime import clock
from authsite.platform.settings.urls import host_of, is_loopback
from authsite.platform.settings.values import is_admin
from authsite.platform.settings.values import scope as scope_name

from .clients import service
from .clients.redirect_uris import check_readable
from .errors import InvalidTarget, InvalidValue
from .models import MAX_URI, OPAQUE, RESOURCE_SERVER, Client, Resource
from .reasons import TokenReason
from .scopes import ACCOUNT_SCOPE, OPENID_SCOPES, parse

MAX_SCOPES = 1024  # characters: the size of the column
# Scheme, authority, path and query (RFC 3986, appendix B); without a fragment (RFC 8707, 2).
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?#]*+))?([^?#]*)(\?[^#]*)?")
_NOT_IN_A_URI = re.compile(r"[^!-~]|[\"<>\\^`{|}]")


class RegisteredResource(NamedTuple):
    """A resource, as plain values; the columns of `Resource`."""

    uri: str
    scopes: str
    client_id: UUID | None
    tokens: str


FIND = PreparedQuery(
    select(*columns_of(Resource, RegisteredResource)).where(
        func.lower(Resource.uri).in_([bindparam("spelling"), bindparam("other_spelling")])
    ),
    RegisteredResource,
)


def comparable(uri: str) -> str:
    """The text by which two URIs are compared."""
    found = _URI.fullmatch(uri)
    if found is None:
        return uri
    scheme, authority, path, query = found.groups(default="")
    if found[2] is None:
        return f"{scheme.lower()}:{path}{query}"
    return f"{scheme.lower()}://{authority.lower()}{path or '/'}{query}"


def find(ctx: Context, uri: str) -> RegisteredResource | None:
    """The resource with this URI, read outside of the request's transaction; None if unknown."""
    if len(uri) > MAX_URI or not uri.isascii():
        return None
    wanted = comparable(uri)
    parts = _URI.fullmatch(wanted)
    without_path = f"{parts[1]}://{parts[2]}{parts[4] or ''}" if parts and parts[2] else wanted
    # The database compares without case, which may find too many: the rest is done here.
    rows = FIND.all(ctx.database, spelling=wanted.lower(), other_spelling=without_path.lower())
    return next((row for row in rows if comparable(row.uri) == wanted), None)


def choose(
    ctx: Context, requested: str | None, default_resource: str | None
) -> RegisteredResource | None:
    """The resource that a new token is for: the one requested, else the client's default.

    None where there is neither. Raises `InvalidTarget` for one that is not registered.
    """
    uri = requested or default_resource
    if not uri:
        return None
    found = find(ctx, uri)
    if found is None:
        raise InvalidTarget().because(
            TokenReason.TARGET, sent=uri, expected="authsite resource list"
        )
    return found


def scope_for(resource: RegisteredResource | None, scope: str) -> str:
    """What of ``scope`` a token for the resource may have; all of it without a resource.

    The scopes of the resource and those of OpenID Connect; the others are left out.
    """
    if resource is None:
        return scope
    known = {*resource.scopes.split(), *OPENID_SCOPES}
    return " ".join(each for each in parse(scope) if each in known)


def is_same(uri: str, other: str) -> bool:
    """Whether two texts are the URI of one resource."""
    return comparable(uri) == comparable(other)


def check_same(requested: str | None, audience: str | None) -> None:
    """Raise `InvalidTarget` if a resource is requested that is not the audience."""
    if not requested or (audience is not None and is_same(requested, audience)):
        return
    if audience is None:
        raise InvalidTarget().because(TokenReason.TARGET_LATE, sent=requested, expected="none")
    raise InvalidTarget().because(TokenReason.TARGET_OTHER, sent=requested, expected=audience)


def check(uri: str) -> None:
    """Raise ValueError unless ``uri`` can be that of a resource: absolute, without a fragment."""
    if not uri or len(uri) > MAX_URI or _NOT_IN_A_URI.search(uri):
        raise InvalidValue(
            _(
                "the URI must have 1 to ${number} characters, without blanks and without any"
                " that a URI cannot have",
                mapping={"number": str(MAX_URI)},
            )
        )
    if "#" in uri:
        raise InvalidValue(_("the URI must have no fragment: leave out “#” and what follows"))
    found = _URI.fullmatch(uri)
    if found is None or not (found[2] or found[3]):
        raise InvalidValue(_("the URI must be absolute, such as https://api.example.com/"))
    if found[1].lower() in ("http", "https") and not found[2]:
        raise InvalidValue(_("the URI must have a host, such as https://api.example.com/"))
    if "@" in (found[2] or ""):
        raise InvalidValue(_("the URI must have no user name: leave out what is in front of “@”"))
    if not _names_a_server(found[1].lower(), found[2] or ""):
        raise InvalidValue(
            _(
                "give a URI that names an API, such as https://api.example.com/ or urn:example:api;"
                " ${scheme} cannot: http is for this computer alone, and a scheme of your own has a"
                " dot",
                mapping={"scheme": f"{found[1].lower()}:"},
            )
        )
    check_readable(uri)


def _names_a_server(scheme: str, authority: str) -> bool:
    if scheme == "http":
        try:
            return is_loopback(host_of(f"http://{authority}"))
        except ValueError:  # an address that does not exist
            return False
    return scheme in ("https", "urn", "api") or "." in scheme


def add(
    ctx: Context, uri: str, scopes: str, client_id: UUID | None = None, tokens: str = OPAQUE
) -> Resource:
    """Register a resource; ``client_id``: the resource server that may introspect its tokens.

    ``tokens``: `OPAQUE`, or `JWT` for access tokens that the resource checks itself.

    Raises ValueError for a URI that `check` refuses or that is registered already, for a scope that
    no token can have, and for a client of another type than resource server.
    """
    check(uri)
    service.wait_for_others(ctx.db)
    known = find_row(ctx, uri)
    if known is not None:
        raise InvalidValue(
            _(
                "the resource ${uri} is registered already: change that one",
                mapping={"uri": known.uri},
            )
        )
    now = clock.now()
    resource = Resource(
        id=uuid.uuid4(),
        uri=uri,
        scopes=_checked_scopes(scopes),
        tokens=tokens,
        created_at=now,
        updated_at=now,
    )
    resource.client_id = _server(ctx, client_id)
    ctx.db.add(resource)
    return resource


def change(
    ctx: Context,
    resource: Resource,
    *,
    scopes: str | None,
    client_id: UUID | str | None,
    tokens: str | None = None,
) -> None:
    """Change what is not None; an empty text as ``client_id`` means no resource server.

    Tokens that were issued before keep scopes and form until they are refreshed. Raises
    ValueError as `add`.
    """
    if scopes is not None:
        resource.scopes = _checked_scopes(scopes)
    if client_id is not None:
        resource.client_id = _server(ctx, client_id) if isinstance(client_id, UUID) else None
    if tokens is not None:
        resource.tokens = tokens
    resource.updated_at = clock.now()


def remove(ctx: Context, resource: Resource) -> None:
    """Delete a resource: no server may introspect its tokens any more, and none is refreshed.

    Raises ValueError while it is the default of a client.
    """
    defaults = select(Client.id, Client.default_resource).where(Client.default_resource != "")
    for client_id, default in ctx.db.execute(defaults.order_by(Client.created_at)):
        if is_same(default or "", resource.uri):
            raise InvalidValue(
                _(
                    "it is the default of the client ${client_id}: change that first",
                    mapping={"client_id": str(client_id)},
                )
            )
    ctx.db.delete(resource)


def find_row(ctx: Context, uri: str) -> Resource | None:
    """The row of a resource, for a change."""
    wanted = comparable(uri)
    return next((row for row in rows(ctx) if comparable(row.uri) == wanted), None)


def rows(ctx: Context) -> Sequence[Resource]:
    """All resources, the oldest first."""
    return ctx.db.scalars(select(Resource).order_by(Resource.created_at, Resource.uri)).all()


def _checked_scopes(scopes: str) -> str:
    names = parse(" ".join(scopes.split()))
    for name in names:
        scope_name(name)
        if is_admin(name) or name == ACCOUNT_SCOPE:
            raise InvalidValue(
                _(
                    "${name} is for authsite's own API, which a token for a resource never opens",
                    mapping={"name": name},
                )
            )
    found = " ".join(names)
    if len(found) > MAX_SCOPES:
        raise InvalidValue(
            _(
                "the scopes must have at most ${number} characters together",
                mapping={"number": str(MAX_SCOPES)},
            )
        )
    return found


def _server(ctx: Context, client_id: UUID | str | None) -> UUID | None:
    if not isinstance(client_id, UUID):
        return None
    found = ctx.db.get(Client, client_id)
    if found is None or found.type != RESOURCE_SERVER:
        raise InvalidValue(
            _(
                "no client of type ${resource_server} has the id ${client_id}; `authsite client"
                " list --type ${resource_server}` shows them",
                mapping={"resource_server": RESOURCE_SERVER, "client_id": str(client_id)},
            )
        )
    return client_id
