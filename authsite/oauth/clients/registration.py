"""Register a client with all of its fields, and change one."""

from authsite.oauth.errors import InvalidValue, errors_of, require_valid
from authsite.oauth.models import CODE_TYPES, REGISTRABLE_TYPES, Client
from authsite.platform.audit.service import Cause
from authsite.platform.context import Context
from authsite.platform.i18n import _

from . import fields as client_fields
from . import groups
from . import service as clients
from .fields import NO_FIELDS, ClientFields


def register(
    ctx: Context,
    name: str,
    client_type: str,
    scope: str = "",
    default_scope: str = "",
    fields: ClientFields = NO_FIELDS,
    cause: Cause | None = None,
) -> tuple[Client, str | None]:
    """Create a client; returns it and its secret, as `clients.create` does.

    Raises ValueError with all that `errors_of_new` has.
    """
    require_valid(errors_of_new(ctx, name, client_type, scope, default_scope, fields))
    if client_type in CODE_TYPES and fields.id_token_claims is None:
        fields = fields._replace(id_token_claims=client_fields.default_claims(client_type))
    client, secret = clients.create(ctx, name, client_type, scope, default_scope, cause)
    client_fields.apply(ctx, client, fields)
    return client, secret


def errors_of_new(
    ctx: Context,
    name: str | None,
    client_type: str | None,
    scope: str | None,
    default_scope: str | None,
    fields: ClientFields,
) -> list[InvalidValue]:
    """What is wrong with the values of a new client that are there, one error for each field.

    As `clients.create` and `client_fields.apply`, and for a client that signs people in without a
    redirect URI. The fields are those of a type: of an unknown one nothing is said about them.
    """
    found = clients.errors_of_new(name, client_type, scope, default_scope)
    if client_type in REGISTRABLE_TYPES:
        found += client_fields.errors_of_fields(ctx, client_type, fields)
    if client_type in CODE_TYPES and not any(fields.redirect_uris or ()):
        message = _(
            "a client of type ${client_type} needs a redirect URI: the page of the"
            " application to which a person returns after the sign-in",
            mapping={"client_type": client_type},
        )
        found.append(InvalidValue(message).of("redirect_uris"))
    return [*found, *_unknown_scope(ctx, scope, found)]


def change(
    ctx: Context,
    client: Client,
    *,
    name: str | None = None,
    scope: str | None = None,
    default_scope: str | None = None,
    fields: ClientFields = NO_FIELDS,
    cause: Cause | None = None,
) -> None:
    """Change what is not None. A narrower scope, and another ``first_party``, end its tokens.

    Raises ValueError with all that `errors_of_change` has.
    """
    require_valid(errors_of_change(ctx, client, name, scope, default_scope, fields))
    before = client.first_party
    client_fields.apply(ctx, client, fields)
    clients.change(
        ctx,
        client,
        name=name,
        scope=scope,
        default_scope=default_scope,
        end_tokens=client.first_party != before,
        cause=cause,
    )


def errors_of_change(
    ctx: Context,
    client: Client,
    name: str | None,
    scope: str | None,
    default_scope: str | None,
    fields: ClientFields,
) -> list[InvalidValue]:
    """What is wrong with the new values that are there, one error for each field.

    Of a client that says itself what it is nothing can be changed: that alone is said.
    """
    try:
        clients.require_registered_here(client)
    except InvalidValue as error:
        return [error]
    now_or_new = client.scope if scope is None else scope
    default_scope = client.default_scope if default_scope is None else default_scope
    found = clients.value_errors(client.type, name, now_or_new, default_scope)
    found += client_fields.errors_of_fields(ctx, client.type, fields, client.grant_types)
    if fields.redirect_uris is not None and not any(fields.redirect_uris):
        message = _("a client keeps at least one redirect URI: give the one that it needs")
        found.append(InvalidValue(message).of("redirect_uris"))
    return [*found, *_unknown_scope(ctx, scope, found)]


def _unknown_scope(
    ctx: Context, scope: str | None, found: list[InvalidValue]
) -> list[InvalidValue]:
    if not scope or any(error.field == "scope" for error in found):
        return []
    return errors_of({"scope": lambda: groups.require_known(ctx.settings, scope)})
