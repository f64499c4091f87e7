"""Begin a sign-in of a program or device without a browser (RFC 8628, sections 3.1 and 3.2)."""

import re
import secrets
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple, NoReturn
from uuid import UUID, uuid4

from sqlalchemy import Connection, ForeignKey, String, bindparam, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, mapped_column

from authsite.oauth import asked_scopes, resources, scopes
from authsite.oauth.clients.authentication import AuthenticatedClient
from authsite.oauth.codes import service as codes
from authsite.oauth.codes.redeem import counting_failures, redeem_of_device
from authsite.oauth.codes.service import KEEP, NewCode
from authsite.oauth.consents import service as consents
from authsite.oauth.errors import ExpiredCode, InvalidCode, UnauthorizedClient
from authsite.oauth.models import DEVICE_GRANT, MAX_URI
from authsite.oauth.reasons import NOT_DEVICE_CODE, DeviceReason
from authsite.oauth.tokens.format import TokenPair, expiry
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.crypto.keys import Keys
from authsite.platform.crypto.sealed import IdText, SealedId
from authsite.platform.db import PreparedQuery
from authsite.platform.db.base import Base
from authsite.platform.db.batches import Batch, sweep_table
from authsite.platform.db.prepared import columns_of
from authsite.platform.denied_requests.reason import DenialReason
from authsite.platform.http.errors import ApiError, FieldError, ValidationFailed
from authsite.platform.runtime import clock
from authsite.platform.runtime.lines import typed_code
from authsite.platform.settings import Settings
from authsite.users import service as users
from authsite.users.errors import SignInEnded

# The texts of a device code, which a program keeps, and of a user code, which a person types.


CODE = SealedId("dc_", "device code")
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"  # no vowels and so no words, and no digits (RFC 8628, 6.1)
LENGTH = 8  # letters: 34 bits
_USER_CODE = re.compile(f"[{LETTERS}]{{{LENGTH}}}")
_BETWEEN = re.compile(r"[._]+")


def new_user_code() -> str:
    """A user code, in the form of `shown`."""
    letters = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
    return f"{letters[:4]}-{letters[4:]}"


def shown(typed: str) -> str | None:
    """The user code in what a person typed, as ``BCDF-GHJK``; None if it can be none.

    In upper or lower case, with blanks, dashes, dots and underscores anywhere.
    """
    letters = _BETWEEN.sub("", typed_code(typed)).upper()
    return f"{letters[:4]}-{letters[4:]}" if _USER_CODE.fullmatch(letters) else None


def digests(keys: Keys, user_code: str) -> list[str]:
    """What is stored of a user code: that of the signing key first, then those of former ones."""
    macs = keys["device user code"].macs(user_code.encode())
    return [mac.hex() for mac in macs]


# Errors of the device grant (RFC 8628, section 3.5), and of the page for the code.


class AuthorizationPending(ApiError):
    summary = "The person has not answered yet: ask again after `interval` seconds."
    status = 400
    code = "authorization_pending"
    noted = False  # the device asks until there is an answer
    message = "The person has not entered the code yet. Ask again after the interval."


class SlowDown(ApiError):
    summary = "The device asked too early: from now on the interval is 5 seconds longer."
    status = 400
    code = "slow_down"
    why = DeviceReason.SLOW_DOWN
    message = why.developer


class AccessDenied(ApiError):
    summary = "The person did not allow the device to sign them in."
    status = 400
    code = "access_denied"
    why = DeviceReason.ACCESS_DENIED
    message = why.developer


class ExpiredToken(ApiError):
    summary = "The device code has expired."
    status = 400
    code = "expired_token"
    why = DeviceReason.EXPIRED
    message = why.developer


class InvalidDeviceCode(InvalidCode):
    """A device code that gives no tokens; ``why`` says more to the operator alone."""

    def __init__(self, why: DenialReason) -> None:
        super().__init__(why)
        self.message = NOT_DEVICE_CODE


class UserCodeRefused(ValidationFailed):
    """No device waits with this user code."""

    def __init__(self, why: DeviceReason, code: str) -> None:
        self.why = why
        super().__init__(details=[FieldError(code, "user_code", why.person)])


def wrong_user_code() -> UserCodeRefused:
    """No device has shown this code."""
    return UserCodeRefused(DeviceReason.USER_CODE_WRONG, "wrong_user_code")


def expired_user_code() -> UserCodeRefused:
    """The device waits no longer."""
    return UserCodeRefused(DeviceReason.USER_CODE_EXPIRED, "expired_user_code")


def answered_user_code() -> UserCodeRefused:
    """The code was entered and answered before."""
    return UserCodeRefused(DeviceReason.USER_CODE_ANSWERED, "answered_user_code")


# The table of device codes.


class DeviceCode(Base):
    """A request of a program or device that waits for a person (RFC 8628, section 3.2).

    The text of the device code is its sealed ``id``, which becomes the id of the token family.
    ``user_code``: a keyed digest of the text that the person types. ``scope`` and ``audience`` are
    what the client may have of what it asked for. ``address`` and ``agent``: of the device.
    ``interval``: seconds that it has to wait between two requests; ``poll_after``: a request before
    this moment is too early. ``user_id``, ``decided_at`` and ``approved``: who decided, when, and
    how. With an approval comes a row of `AuthorizationCode` with the same ``id``, which is redeemed
    like any other.
    """

    __tablename__ = "device_codes"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    client_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("clients.id", ondelete="CASCADE"), index=True
    )
    client_epoch: Mapped[int]
    user_code: Mapped[str] = mapped_column(String(64), unique=True)
    scope: Mapped[str] = mapped_column(String(1024))
    audience: Mapped[str | None] = mapped_column(String(MAX_URI))
    address: Mapped[str | None] = mapped_column(String(45))
    agent: Mapped[str | None] = mapped_column(String(200))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    interval: Mapped[int]
    poll_after: Mapped[datetime | None]
    user_id: Mapped[uuid.UUID | None] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    decided_at: Mapped[datetime | None]
    approved: Mapped[bool | None]


# The device that waits with a user code, and the person's answer (RFC 8628, section 3.3).


LIMIT = "device-code"


class Device(NamedTuple):
    """A device that shows a user code; the columns of `DeviceCode`."""

    id: UUID
    client_id: UUID
    client_epoch: int
    scope: str
    audience: str | None
    address: str | None
    agent: str | None
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None


DEVICE = PreparedQuery(
    select(*columns_of(DeviceCode, Device)).where(
        DeviceCode.user_code == bindparam("user_code", type_=DeviceCode.__table__.c.user_code.type)
    ),
    Device,
)


def find(ctx: Context, user_code: str) -> Device | None:
    """The device code with this user code, whatever became of it; outside of the transaction."""
    for digest in digests(ctx.services.keys, user_code):
        found = DEVICE.one(ctx.database, user_code=digest)
        if found is not None:
            return found
    return None


def waiting(ctx: Context, user_id: UUID, typed: str) -> Device:
    """The device that waits with the code that the user ``typed``.

    Each failure counts, for the address and for the user, and it is counted before anything is
    read: who sends many at once learns no more. Raises `TooManyAttempts` and `UserCodeRefused`.
    """
    subjects = (ctx.limits.address, str(user_id))
    for subject in subjects:
        ctx.limits.count(LIMIT, subject)
    user_code = shown(typed)
    found = find(ctx, user_code) if user_code else None
    if found is None:
        raise wrong_user_code()
    if found.decided_at is not None:
        raise answered_user_code()
    if found.expires_at <= clock.now():
        raise expired_user_code()
    for subject in subjects:
        ctx.limits.refund(LIMIT, subject)
    return found


def approve(ctx: Context, device: Device, new: NewCode) -> None:
    """Store the answer and the code ``new`` that gives the tokens, in the transaction of ``ctx``.

    The device learns of it when it asks the next time. The consent is stored, as at the
    authorization endpoint. Raises `SignInEnded`, and `UserCodeRefused` if another request has
    answered, or the code has expired.
    """
    client, account = new.client, new.account
    # First of all: what ends the sign-ins or the consents of a user locks the user first, too.
    if users.lock_unchanged(ctx.db, account.id, account.epoch) is None:
        raise SignInEnded
    _decide(ctx, device, account.id, approved=True)
    if new.by_consent:
        consents.give(ctx, account.id, client.id, new.scope, new.audience)
        consents.note_use(ctx, account.id, client.id)
    try:
        codes.add(ctx, new, device.id, device.expires_at)
    except IntegrityError:  # the row of the client is gone
        raise expired_user_code() from None
    details = {"scope": new.scope, "session": str(new.session.id)}
    about = {"user_id": account.id, "client_id": client.id}
    record(ctx, Event.DEVICE_APPROVED, **about, details=details)


def deny(ctx: Context, device: Device, user_id: UUID) -> None:
    """Store that the user does not allow it. Raises `UserCodeRefused` as `approve`."""
    _decide(ctx, device, user_id, approved=False)
    record(ctx, Event.DEVICE_DENIED, user_id=user_id, client_id=device.client_id)


def _decide(ctx: Context, device: Device, user_id: UUID, *, approved: bool) -> None:
    """One UPDATE: of concurrent answers, one counts."""
    now = clock.now()
    decided = ctx.db.scalar(
        update(DeviceCode)
        .where(
            DeviceCode.id == device.id,
            DeviceCode.decided_at.is_(None),
            DeviceCode.expires_at > now,
        )
        .values(user_id=user_id, decided_at=now, approved=approved)
        .returning(DeviceCode.id)
        .execution_options(synchronize_session=False)
    )
    if decided is None:
        raise expired_user_code() if device.expires_at <= now else answered_user_code()


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
        user_code=digests(ctx.services.keys, user_code)[0],
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
    return Started(CODE.encode(ctx.services.keys, code), user_code, lifetime, INTERVAL)


def _new_user_code(ctx: Context) -> str:
    """A user code that no stored device code has."""
    while True:
        code = new_user_code()
        if find(ctx, code) is None:
            return code


# A device asks for its tokens, again and again (RFC 8628, sections 3.4 and 3.5).
#
# Once a person has approved, there is an authorization code with the id of the device code. It is
# redeemed by the same checks as any other, and once.


SLOWER = 5  # seconds that each request that was too early adds to the interval
LONGEST = 300  # seconds of an interval; then a request that is too early writes nothing
JITTER = timedelta(milliseconds=500)  # a request may take less time on its way than the one before


class PolledCode(NamedTuple):
    """A device code as a request for the tokens finds it; the columns of `DeviceCode`."""

    id: UUID
    client_id: UUID
    client_epoch: int
    interval: int
    poll_after: datetime | None
    expires_at: datetime
    approved: bool | None


class Polled(NamedTuple):
    """A device code whose request was noted."""

    id: UUID


_COLUMNS = DeviceCode.__table__.c
_WAITS = (
    DeviceCode.id == bindparam("code_id", type_=_COLUMNS.id.type),
    DeviceCode.decided_at.is_(None),
)
_NEXT = bindparam("next", type_=_COLUMNS.poll_after.type)
POLLED = PreparedQuery(
    select(*columns_of(DeviceCode, PolledCode)).where(DeviceCode.id == bindparam("code_id")),
    PolledCode,
)
IN_TIME = PreparedQuery(
    update(DeviceCode)
    .where(
        *_WAITS,
        or_(
            DeviceCode.poll_after.is_(None),
            DeviceCode.poll_after <= bindparam("now", type_=_COLUMNS.poll_after.type),
        ),
    )
    .values(poll_after=_NEXT)
    .returning(DeviceCode.id),
    Polled,
)
TOO_EARLY = PreparedQuery(
    update(DeviceCode)
    .where(*_WAITS)
    .values(
        poll_after=_NEXT,
        interval=DeviceCode.interval + bindparam("slower", type_=_COLUMNS.interval.type),
    )
    .returning(DeviceCode.id),
    Polled,
)


def poll(ctx: Context, client: AuthenticatedClient, device_code: str, resource: str) -> TokenPair:
    """The tokens, once a person has approved.

    Raises `AuthorizationPending`, `SlowDown`, `AccessDenied` and `ExpiredToken`;
    `InvalidDeviceCode`, which is counted in the limit `client-auth`; and what `codes.redeem` raises
    after an approval.
    """
    with counting_failures(ctx, client.id):
        try:
            code = _find(ctx, client, device_code)
            if code.approved:
                return redeem_of_device(ctx, client, code.id, resource)
        except ExpiredCode:
            raise ExpiredToken from None
        except InvalidCode as error:
            if error.why is None:
                raise
            raise InvalidDeviceCode(error.why) from None
    _wait(ctx, code)


def _find(ctx: Context, client: AuthenticatedClient, device_code: str) -> PolledCode:
    values = CODE.decode_expired(ctx.services.keys, device_code)
    if values is None:
        raise InvalidCode(DeviceReason.CODE_UNKNOWN)
    code = POLLED.one(ctx.database, code_id=values.id)
    if code is None:
        raise InvalidCode(DeviceReason.CODE_GONE)
    if code.client_id != client.id:
        raise InvalidCode(DeviceReason.CODE_OTHER_CLIENT)
    if code.client_epoch != client.epoch:
        raise InvalidCode(DeviceReason.CODE_CLIENT_CHANGED)
    return code


def _wait(ctx: Context, code: PolledCode) -> NoReturn:
    """Note the request of a device that has no answer yet, and raise what it is told.

    In separate transactions, since that of a refused request is rolled back. Of two requests at the
    same time one is too early. A flood of requests soon only reads.
    """
    now = clock.now()
    if code.approved is False:
        raise AccessDenied
    if code.expires_at <= now:
        raise ExpiredToken
    too_early = code.poll_after is not None and code.poll_after > now + JITTER
    if too_early and code.interval >= LONGEST:
        raise SlowDown
    wait = timedelta(seconds=code.interval)
    if IN_TIME.one(ctx.database, code_id=code.id, now=now + JITTER, next=now + wait):
        raise AuthorizationPending
    wait += timedelta(seconds=SLOWER)
    if TOO_EARLY.one(ctx.database, code_id=code.id, slower=SLOWER, next=now + wait):
        raise SlowDown
    raise AuthorizationPending  # answered at this moment: the next request finds it


# Delete device codes a day after their end, as authorization codes.


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete codes that expired a day ago, answered or not."""
    return sweep_table(connection, DeviceCode, DeviceCode.expires_at <= now - KEEP)
