"""Register a client with all of its fields, and change one."""

from authsite.platform.audit.cause import Cause
from authsite.platform.context import Context
from authsite.platform.i18n import _

from . import client_fields, clients
from .client_fields import NO_FIELDS, ClientFields
from .invalid_value import InvalidValue
from .models import CODE_TYPES, Client


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

    Raises ValueError as `clients.create` and `client_fields.apply`, and for a client that signs
    people in without a redirect URI; `FeatureNotOpen`.
    """
    if client_type in CODE_TYPES and not any(fields.redirect_uris or ()):
        raise InvalidValue(
            _(
                "a client of type ${client_type} needs a redirect URI: the page of the"
                " application to which a person returns after the sign-in",
                mapping={"client_type": client_type},
            )
        )
    if client_type in CODE_TYPES and fields.id_token_claims is None:
        fields = fields._replace(id_token_claims=client_fields.default_claims(client_type))
    client, secret = clients.create(ctx, name, client_type, scope, default_scope, cause)
    client_fields.apply(ctx, client, fields)
    return client, secret


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

    Raises ValueError as `register`.
    """
    clients.require_registered_here(client)
    if fields.redirect_uris is not None and not any(fields.redirect_uris):
        raise InvalidValue(
            _("a client keeps at least one redirect URI: give the one that it needs")
        )
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
