"""Begin a sign-in of a program or device without a browser (RFC 8628, sections 3.1 and 3.2)."""

from typing import NamedTuple
from uuid import uuid4

from authsite.oauth import asked_scopes, resources, scopes
from authsite.oauth.client_auth import AuthenticatedClient
from authsite.oauth.errors import UnauthorizedClient
from authsite.oauth.models import DEVICE_GRANT
from authsite.oauth.tokens import expiry
from authsite.platform.context import Context
from authsite.platform.crypto.sealed import IdText
from authsite.platform.runtime import clock

from . import text, waiting
from .models import DeviceCode

INTERVAL = 5  # seconds


class Started(NamedTuple):
    """What the device is told; ``expires_in`` and ``interval`` in seconds."""

    device_code: str
    user_code: str
    expires_in: int
    interval: int


def start(
    ctx: Context, client: AuthenticatedClient, scope: str | None, resource: str | None
) -> Started:
    """Store a device code for what the client may have of ``scope``.

    Raises `UnauthorizedClient`, `TooManyAttempts`, `InvalidScope` and `InvalidTarget`.
    """
    if not client.may_use(DEVICE_GRANT):
        raise UnauthorizedClient
    ctx.limits.count("device-start", str(client.id), ctx.limits.address)
    asked = scopes.parse(scope or "") or scopes.parse(client.default_scope)
    chosen = resources.choose(ctx, resource, client.default_resource)
    granted = asked_scopes.of_sign_in(ctx.settings, asked, client.scope, chosen)
    now, info, user_code = clock.now(), ctx.request_info, _new_user_code(ctx)
    row = DeviceCode(
        id=uuid4(),
        client_id=client.id,
        client_epoch=client.epoch,
        user_code=text.digests(ctx.services.keys, user_code)[0],
        scope=granted,
        audience=chosen.uri if chosen else None,
        address=info.address,
        agent=info.agent,
        created_at=now,
        expires_at=expiry(now, ctx.settings.device_expires_in),
        interval=INTERVAL,
    )
    ctx.db.add(row)
    code = IdText(row.id, int(row.expires_at.timestamp()))
    lifetime = int((row.expires_at - now).total_seconds())
    return Started(text.CODE.encode(ctx.services.keys, code), user_code, lifetime, INTERVAL)


def _new_user_code(ctx: Context) -> str:
    """A user code that no stored device code has."""
    while True:
        code = text.new_user_code()
        if waiting.find(ctx, code) is None:
            return code
