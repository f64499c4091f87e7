"""The link "This was not me" in the notices of a login from a new device and of a factor change.

Its button ends everything that was issued to the user, as "sign out everywhere" does. An intruder
who knows the password may have signed in again without a notice, or created a personal access
token. So the password becomes unusable, too, and the same link lets its reader choose a new one.
Identities at providers go, unless they are trusted and have the address of the link.
All recognized browsers and addresses are forgotten, but for those of the reader. Second factors go
that were added since the sign-in; see `authsite.sign_in.factors.recovering`.

The link is a right of the mailbox that it went to. It is bound to the user and that address, and
serves only

- while the address is the account's, or can still be restored to it (`authsite.users.former`), and
- until its reader has chosen a password: with such a link, or with a reset link that went to the
  same address, or by taking a change of address back, or
- until an administrator sets the address, even to the present one.

``links_ended_at`` of the address has when.

So nothing that an intruder does to the account ends it: no sign-out, no change of the password or
of the address, and no reset or revert that another mailbox has confirmed.
"""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from sqlalchemy.orm import Session

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.crypto.keys import KeyRing
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.http.errors import ValidationFailed
from authsite.platform.passwords import policy
from authsite.platform.runtime import clock
from authsite.platform.single_use import spend, was_spent
from authsite.recovery.service import replace_password
from authsite.sign_in.credentials import remember_caller
from authsite.sign_in.factors import recovering
from authsite.sign_in.factors.recovering import Named
from authsite.sign_in.identifiers import normalized_key
from authsite.sign_in.notices import LINK_LIFETIME
from authsite.users import former
from authsite.users import service as users
from authsite.users.identities import remove_untrusted
from authsite.users.models import User
from authsite.verification.errors import InvalidSignature

PURPOSE = "not me at an address"
_FORMAT = SealedFormat("16s16s16s")  # user, session, address
CHANGE_PURPOSE = "not me at a change"
_CHANGE_FORMAT = SealedFormat("16s16s16sQI")  # ... the sign-in's time, microseconds of the change
_NO_SESSION = UUID(int=0)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Notice(NamedTuple):
    """What a notice is about, and the address that it was mailed to."""

    user_id: UUID
    address_hash: bytes
    named: Named


class Disowned(NamedTuple):
    """What a link serves for: its user, and the address that it was mailed to.

    ``is_present``: that is the account's address. ``chooses``: the sign-ins were ended with such a
    link, so it shows the form for a new password.
    """

    user: User
    key: str
    named: Named
    is_present: bool
    chooses: bool


def make_token(
    ring: KeyRing, user_id: UUID, session_id: UUID, address: str, expires_at: datetime
) -> str:
    """The token of the link in the notice to ``address``, until ``expires_at`` (whole seconds).

    ``expires_at`` is `LINK_LIFETIME` after the login.
    """
    ids = user_id.bytes, session_id.bytes, _hash(normalized_key("email", address))
    return _FORMAT.seal(ring, *ids, expires=int(expires_at.timestamp()))


def make_change_token(ring: KeyRing, user_id: UUID, named: Named, address: str) -> str:
    """The token of the link in the notice of a change of the second factors."""
    expires_at, since = named.at + LINK_LIFETIME, named.since.astimezone(UTC)
    return _CHANGE_FORMAT.seal(
        ring,
        user_id.bytes,
        (named.session_id or _NO_SESSION).bytes,
        _hash(normalized_key("email", address)),
        (since - _EPOCH) // _MICROSECOND,
        expires_at.microsecond,
        expires=int(expires_at.timestamp()),
    )


def find(ctx: Context, token: str) -> Disowned:
    """What ``token`` serves for; opening the link changes nothing.

    Raises `InvalidSignature` for a wrong or expired token, for a link that does not serve any more
    (see above), and if the user was deleted or disabled.
    """
    return _find(ctx, ctx.db, token)


def find_choice(ctx: Context, token: str) -> Disowned:
    """`find` for a link with which a password can be chosen, outside the transaction.

    Raises `InvalidSignature`.
    """
    with Session(ctx.database.autocommit) as reading:
        found = _find(ctx, reading, token)
    if not found.chooses:
        raise InvalidSignature
    return found


def _find(ctx: Context, db: Session, token: str, *, lock: bool = False) -> Disowned:
    notice = _read(ctx, token)
    user = db.get(User, notice.user_id, with_for_update=lock)
    if user is None or user.disabled_at:
        raise InvalidSignature
    keys = _keys(db, user)
    key = next((each for each in keys if _hash(each) == notice.address_hash), None)
    if key is None:
        raise InvalidSignature
    is_present = key == keys[0]
    left = None if is_present else former.find_left(db, user.id, key)
    ended_at = left.links_ended_at if left else user.links_ended_at
    if ended_at is not None and ended_at >= notice.named.at:
        raise InvalidSignature
    # The password alone does not tell: a user who signs in with a provider may have none.
    chooses = user.password_hash is None and was_spent(db, _ended_at(user.id, user.epoch))
    return Disowned(user, key, notice.named, is_present, chooses)


def _ended_at(user_id: UUID, epoch: int) -> str:
    """What `end` uses up. A later epoch needs another press: it may follow another sign-in."""
    return f"{PURPOSE} {user_id} {epoch}"


def _keys(db: Session, user: User) -> list[str]:
    """The present address, and those that can still be restored."""
    return [normalized_key("email", user.email), *former.find_keys(db, user.id)]


def end(ctx: Context, token: str) -> Disowned:
    """End all sign-ins, tokens and pending changes of the user, what is recognized, the password.

    Done again, it changes nothing. Raises `InvalidSignature` as `find` does.
    """
    found = _find(ctx, ctx.db, token, lock=True)
    if not found.chooses:
        user_id, factors_since = found.user.id, found.user.factors_since
        ended = users.end_sign_ins(
            ctx, user_id, forget_recognized=True, password_hash=None, updated_at=clock.now()
        )
        session_id = found.named.session_id
        details = {"session": str(session_id)} if session_id else None
        record(ctx, Event.LOGIN_DISAVOWED, user_id=user_id, details=details)
        if ended:
            spend(ctx.db, _ended_at(user_id, ended.epoch), clock.now() + LINK_LIFETIME)
            remove_untrusted(ctx, user_id, found.key)
            recovering.disown(ctx, found.user, factors_since, found.named)
            remember_caller(ctx, user_id, ended.recognition_version)
    return found


def choose_password(ctx: Context, token: str, password: str) -> Disowned:
    """Set a new password; the links that were mailed to the same address end.

    Everything that was issued ends. The password does not sign in. Raises `InvalidSignature` as
    `find` does, also before the sign-ins were ended with the link, and if another password was set
    in the meantime; `ValidationFailed` for a password that breaks the policy, and
    `HashCapacityExceeded`.
    """
    found = find_choice(ctx, token)
    weak = policy.weakness(ctx.settings, ctx.passwords, password, found.user)
    if weak:
        raise ValidationFailed(details=[weak])
    changes = {"links_ended_at": clock.now()} if found.is_present else {}
    if not replace_password(ctx, found.user, password, mailbox=found.key, **changes):
        raise InvalidSignature
    former.end_links(ctx.db, found.user.id, found.key)
    return found


def _read(ctx: Context, token: str) -> Notice:
    """The content of a token. Raises `InvalidSignature`."""
    keys, now = ctx.services.keys, clock.now()
    if values := _CHANGE_FORMAT.unseal(keys[CHANGE_PURPOSE], token, now):
        user_id, session_id, address_hash, since, micros, expires = values
        named = Named(
            UUID(bytes=session_id) if session_id != _NO_SESSION.bytes else None,
            _EPOCH + since * _MICROSECOND,
            _mailed_at(expires) + micros * _MICROSECOND,
        )
        return Notice(UUID(bytes=user_id), address_hash, named)
    if values := _FORMAT.unseal(keys[PURPOSE], token, now):
        user_id, session_id, address_hash, expires = values
        return Notice(UUID(bytes=user_id), address_hash, _sign_in(session_id, expires))
    raise InvalidSignature


def _sign_in(session_id: bytes, expires: int) -> Named:
    """The sign-in that was reported when the link was mailed."""
    return Named(UUID(bytes=session_id), _mailed_at(expires), _mailed_at(expires))


def _mailed_at(expires: int) -> datetime:
    return datetime.fromtimestamp(expires, UTC) - LINK_LIFETIME


def _hash(key: str) -> bytes:
    """Half of a SHA-256: two addresses of one user that collide would open nothing else."""
    return sha256(key.encode()).digest()[:16]
