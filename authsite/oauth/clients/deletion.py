"""Delete a client for good, with its tokens and what its users have allowed it."""

from typing import NamedTuple
from uuid import UUID

from sqlalchemy import func, select

from authsite.oauth.codes.models import AuthorizationCode
from authsite.oauth.consents.service import Consent
from authsite.oauth.device.service import DeviceCode
from authsite.oauth.errors import InvalidValue
from authsite.oauth.models import Client, Family, PersonalToken, Resource
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Cause, record
from authsite.platform.context import Context
from authsite.platform.i18n import _
from authsite.platform.runtime.ids import as_client_id
from authsite.sign_in.pending import PendingLogin

LOCKED_FIRST = (PendingLogin, DeviceCode, Consent, AuthorizationCode)
"""What a sign-in locks before it inserts a row of the client, in its order. The deletion of the
client, which deletes these rows, locks them first, too: else each would wait for the other."""


class Belongings(NamedTuple):
    """How much goes with a client."""

    sign_ins: int
    """Those that have not been ended: token families, of users or of the client itself."""
    consents: int
    personal_tokens: int
    """Personal access tokens that users have created with it."""


def belongings(ctx: Context, client_id: UUID) -> Belongings:
    """What goes with a client."""

    def number(model: type[Family] | type[Consent] | type[PersonalToken]) -> int:
        rows = select(func.count()).select_from(model).where(model.client_id == client_id)
        if not issubclass(model, Consent):
            rows = rows.where(model.revoked_at.is_(None))
        return ctx.db.scalar(rows) or 0

    return Belongings(number(Family), number(Consent), number(PersonalToken))


def require_unused(ctx: Context, client: Client) -> None:
    """Raise `InvalidValue`, with what to do, if a setting or a resource names the client."""
    for name, proxied in ctx.settings.clients.items():
        if as_client_id(proxied.id) == client.id:
            raise InvalidValue(
                _(
                    "the setting clients.${name}.id names this client: remove it first",
                    mapping={"name": name},
                )
            )
    if str(client.id) in ctx.settings.admin_clients:
        raise InvalidValue(
            _("the setting admin-clients names this client: take it out of the list first")
        )
    uri = ctx.db.scalar(select(Resource.uri).where(Resource.client_id == client.id).limit(1))
    if uri is not None:
        raise InvalidValue(
            _(
                "it is the server of the resource ${uri}, whose tokens no other client could"
                " check: give that one another server first, with `authsite resource update`",
                mapping={"uri": uri},
            )
        )


def delete(ctx: Context, client: Client, cause: Cause | None = None) -> Belongings:
    """Delete the client, in the transaction of ``ctx``; what has gone with it.

    Its tokens end at once, on every process. Raises `InvalidValue` as `require_unused`.
    """
    for model in LOCKED_FIRST:
        rows = select(model.client_id).where(model.client_id == client.id).with_for_update()
        ctx.db.execute(select(func.count()).select_from(rows.subquery()))
    ctx.db.refresh(client, with_for_update=True)  # who is issuing tokens to it comes before
    require_unused(ctx, client)
    gone = belongings(ctx, client.id)
    numbers = {name: str(value) for name, value in gone._asdict().items()}
    about = {"name": client.name, "type": client.type, **numbers}
    details = cause.details(**about) if cause else {**about}
    record(ctx, Event.CLIENT_DELETED, client_id=client.id, details=details)
    ctx.db.delete(client)
    ctx.db.flush()
    return gone
