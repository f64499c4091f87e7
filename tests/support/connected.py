"""Applications of third parties, and what a user has allowed them, as rows."""

from datetime import timedelta
from uuid import UUID, uuid4

from sqlalchemy import select, update

from authsite.oauth.codes.models import AuthorizationCode
from authsite.oauth.consents import service
from authsite.oauth.consents.service import Consent
from authsite.oauth.models import SERVER, Client, Family
from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from tests.support.acting import acting


def application(site, name="Wiki", **more):
    """The id of a new client that uses codes; of a third party, unless ``first_party=True``."""
    client_id, now = uuid4(), clock.now()
    with site.db() as db:
        values = {"type": SERVER, "secret_hash": "0" * 64, "created_at": now, "updated_at": now}
        db.add(Client(id=client_id, name=name, **{**values, **more}))
    return client_id


def allow(site, user, client_id, scope="openid email"):
    """The user allows the client ``scope``."""
    with site.db() as db:
        service.give(context(site, db), user.id, client_id, scope)


def note_use(site, user, client_id):
    """A sign-in of a user at a client; whether there is still a consent."""
    query, values = service.noting_use(user.id, client_id, clock.now())
    return query.one(site.database, **values) is not None


def context(site, db):
    """The context of use cases of ``site``."""
    return acting(db, site.app.registry["authsite"])


def consents(site):
    """All consents, as pairs of client and scope."""
    with site.db() as db:
        rows = db.execute(select(Consent.client_id, Consent.scope).order_by(Consent.created_at))
        return [(client_id, scope) for client_id, scope in rows]


def family(site, user, client_id) -> UUID:
    """The id of a new token family of the user at the client."""
    family_id, now = uuid4(), clock.now()
    with site.db() as db:
        db.add(
            Family(
                id=family_id, client_id=client_id, owner_kind="user", user_id=user.id,
                granted_scope="openid", scope="openid", rescoped=False, user_epoch=user.epoch,
                client_epoch=0, generation=0, created_at=now, rotated_at=now,
                refresh_expires_at=now + timedelta(days=30),
            )
        )  # fmt: skip
    return family_id


def code(site, user, client_id, *, used=False) -> UUID:
    """The id of a new code of the user for the client."""
    code_id, now = uuid4(), clock.now()
    with site.db() as db:
        db.add(
            AuthorizationCode(
                id=code_id, client_id=client_id, client_epoch=0, user_id=user.id, user_epoch=0,
                session_id=uuid4(), redirect_uri="https://wiki.example/callback", scope="openid",
                auth_at=now, created_at=now, expires_at=now + timedelta(seconds=60),
                used_at=now if used else None,
            )
        )  # fmt: skip
    return code_id


def unrevoked(site):
    """The ids of the families that are not revoked."""
    with site.db() as db:
        return set(db.scalars(select(Family.id).where(Family.revoked_at.is_(None))))


def codes(site):
    """The ids of all codes."""
    with site.db() as db:
        return set(db.scalars(select(AuthorizationCode.id)))


def events(site, *names):
    """The events with these names: name, user, client and details, the oldest first."""
    columns = AuditEvent.event, AuditEvent.user_id, AuditEvent.client_id, AuditEvent.details
    with site.db() as db:
        found = select(*columns).where(AuditEvent.event.in_(names)).order_by(AuditEvent.id)
        return [tuple(row) for row in db.execute(found)]


def allowed_before(site, ago, *clients):
    """What these clients were allowed was allowed ``ago``."""
    at = clock.now() - ago
    with site.db() as db:
        changed = update(Consent).where(Consent.client_id.in_(clients))
        db.execute(changed.values(created_at=at, updated_at=at))
