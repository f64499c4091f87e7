"""Second factors of a user, without the pages and calls that add them."""

import uuid
from datetime import timedelta

from sqlalchemy import delete, func, select
from transaction import TransactionManager

from authsite.platform.crypto.sealing import Binding
from authsite.platform.runtime import clock
from authsite.sign_in import gate
from authsite.sign_in import pending as pending_logins
from authsite.sign_in.factors import service
from authsite.sign_in.method import Target
from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.sign_in.methods.recovery_codes.service import RecoveryCode
from authsite.sign_in.methods.totp import enrollment
from authsite.sign_in.methods.totp.models import SECRET, TotpFactor
from authsite.users.account import account_of
from authsite.users.models import User
from tests.support.acting import acting

KEY = b"12345678901234567890"
TABLES = {"totp": TotpFactor, "passkeys": Passkey, "codes": RecoveryCode}


def context(site, db):
    """The context of a request to ``site``."""
    services = site.app.registry["authsite"]
    return acting(db, services, language="en", base_urls=("http://localhost",))


def add_totp(site, user, session_id=None, *, secret=KEY):
    """Give the user an authenticator app, in place of one that is there; the recovery codes."""
    with site.db() as db:
        ctx = context(site, db)
        account = account_of(db.get(User, user.id))
        service.lock(ctx, account)
        replaced = db.execute(delete(TotpFactor).where(TotpFactor.user_id == user.id)).rowcount
        id_ = uuid.uuid4()
        sealed = ctx.services.sealing.seal(secret, Binding(SECRET, id_, user=user.id))
        db.add(
            TotpFactor(
                id=id_, user_id=user.id, secret=sealed, digits=6, period=30, algorithm="SHA1",
                last_step=0, failures=0, created_at=clock.now(),
            )
        )  # fmt: skip
        db.flush()
        added = service.added(ctx, account, "totp", id_, session_id, replaced=bool(replaced))
    return added.recovery_codes


def add_passkey(site, user, session_id=None, *, name="Key", rp_id="localhost"):
    """Give the user a passkey, with which no one can sign in."""
    with site.db() as db:
        ctx = context(site, db)
        account = account_of(db.get(User, user.id))
        service.lock(ctx, account)
        id_ = uuid.uuid4()
        db.add(passkey_row(user.id, id_, name=name, rp_id=rp_id))
        db.flush()
        added = service.added(ctx, account, "passkey", id_, session_id)
    return added.recovery_codes


def passkey_row(user_id, id_, **values):
    given = {
        "name": "Key", "rp_id": "localhost", "public_key": b"\xa5\x01", "user_handle": "aGFuZGxl",
        "sign_count": 7, "aaguid": uuid.UUID(int=0), "transports": "internal hybrid",
        "backup_eligible": True, "backed_up": True, "created_at": clock.now(), **values,
    }  # fmt: skip
    return Passkey(id=id_, user_id=user_id, credential_id=f"cred-{id_.hex}", **given)


def left(site, user):
    """How many rows of each kind the user has."""
    with site.db() as db:
        return {
            name: db.scalar(select(func.count()).select_from(model).where(model.user_id == user.id))
            for name, model in TABLES.items()
        }


def state(site, user):
    """The row of the user."""
    with site.db() as db:
        return db.get(User, user.id)


def next_steps(site, password, username="ann@example.com"):
    """What a sign-in with the password needs: names of methods, "complete", or None if wrong."""
    with site.db() as db:
        given = {"username": username, "password": password}
        done = gate.sign_in(context(site, db), "password", given, Target())
    if isinstance(done, gate.Complete):
        return "complete"
    return done and done.methods


def pending_key(site, password, username="ann@example.com"):
    """The key of a stored pending login behind the password."""
    with site.db() as db:
        ctx = context(site, db)
        given = {"username": username, "password": password}
        pending = gate.sign_in(ctx, "password", given, Target())
        pending_logins.store(ctx, pending)
    return pending.key


def resume(site, key, method, **given):
    """Give a second proof; what the gate answers."""
    manager = TransactionManager(explicit=True)
    manager.begin()
    with site.db() as db:
        db.info["tm"] = manager  # what would follow the commit is left out
        return gate.resume(context(site, db), key, method, given)


def code_now(secret=KEY, steps=0):
    moment = clock.now() + timedelta(seconds=30 * steps)
    return enrollment.code_at(secret, enrollment.step_at(moment))
