"""What commands and the API say of a client; never its secrets."""

from authsite.platform.runtime import clock

from . import client_fields, client_uris
from .models import UNVERIFIED_TYPES, Client, grant_types_of


def facts_of(client: Client, uris: client_uris.Uris) -> dict[str, object]:
    """The fields of a client; ``uris``: see `client_uris.of`. All values fit into JSON.

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
        **client_fields.shown(client, uris),
    }
