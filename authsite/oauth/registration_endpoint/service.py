"""Register a client that says what it is (RFC 7591, section 3)."""

import uuid

from authsite.oauth import client_uris, redirect_uris, unused_clients
from authsite.oauth.client_secrets import hash_secret
from authsite.oauth.clients import new_secret
from authsite.oauth.models import DYNAMIC, REDIRECT, Client, grant_types_of
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.runtime import clock

from . import metadata
from .bodies import ClientMetadata, RegisteredClientAnswer
from .metadata import Metadata

ADDRESS, TOTAL = "registration-address", "registration-total"  # limits


def register(ctx: Context, sent: ClientMetadata) -> RegisteredClientAnswer:
    """A new client of the type `DYNAMIC`, and its secret unless it authenticates by ``none``.

    At the limit `registration-total` an unused one is deleted, and this one is registered all the
    same. Raises `InvalidRedirectUri`, `InvalidClientMetadata` and `TooManyAttempts`.
    """
    values = metadata.read(ctx.settings, sent)
    ctx.limits.count(ADDRESS, ctx.limits.address)
    is_within = ctx.limits.allows(TOTAL)
    if not is_within:
        unused_clients.displace_one(ctx)
    client, secret = _store(ctx, values)
    details = {"name": client.name, "redirect_uris": " ".join(values.redirect_uris)}
    record(ctx, Event.CLIENT_REGISTERED, client_id=client.id, details=details)
    return _answer(client, secret, values)


def _store(ctx: Context, values: Metadata) -> tuple[Client, str | None]:
    now = clock.now()
    secret = None if values.auth_method == "none" else new_secret()
    client = Client(
        id=uuid.uuid4(),
        name=values.name,
        type=DYNAMIC,
        secret_hash=hash_secret(secret) if secret else "",
        scope=values.scope,
        default_scope="",
        epoch=0,
        created_at=now,
        updated_at=now,
        client_uri=values.client_uri,
        policy_uri=values.policy_uri,
        tos_uri=values.tos_uri,
    )
    ctx.db.add(client)
    allowed = redirect_uris.allowed_by(ctx.settings)
    client_uris.replace(ctx.db, client, REDIRECT, values.redirect_uris, allowed)
    return client, secret


def _answer(client: Client, secret: str | None, values: Metadata) -> RegisteredClientAnswer:
    answer: RegisteredClientAnswer = {
        "client_id": str(client.id),
        "client_id_issued_at": int(client.created_at.timestamp()),
        "client_name": client.name,
        "redirect_uris": values.redirect_uris,
        "grant_types": list(grant_types_of(client.type, None)),
        "response_types": ["code"],
        "token_endpoint_auth_method": values.auth_method,
        "application_type": values.application_type,
    }
    if secret is not None:
        answer["client_secret"], answer["client_secret_expires_at"] = secret, 0
    if values.scope:
        answer["scope"] = values.scope
    if values.client_uri:
        answer["client_uri"] = values.client_uri
    if values.policy_uri:
        answer["policy_uri"] = values.policy_uri
    if values.tos_uri:
        answer["tos_uri"] = values.tos_uri
    return answer
