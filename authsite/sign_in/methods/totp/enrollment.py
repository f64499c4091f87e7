"""Add an authenticator app: its secret travels sealed until a code confirms it.

Nothing is stored before. The text ``enrollment`` has the secret and the proof that the user gave,
sealed for one user and one sign-in (a session, or a pending login); it serves once, for
`LIFETIME`, as long as the user's factors do not change.
"""

import hmac
import json
import secrets
import struct
import uuid
from base64 import b32encode, b64decode, b64encode
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import NamedTuple
from urllib.parse import quote

from sqlalchemy import delete, insert

from authsite.platform.context import Context
from authsite.platform.crypto.sealing import Binding, Unusable
from authsite.platform.runtime import clock
from authsite.platform.runtime.lines import typed_code
from authsite.platform.single_use import spend
from authsite.sign_in.factors import policy, state
from authsite.sign_in.factors.errors import InvalidEnrollment
from authsite.sign_in.factors.policy import Proved, can_keep_secrets
from authsite.sign_in.method import Wrong
from authsite.users.account import Account

from .models import SECRET, TotpFactor

# Time-based one-time passwords (RFC 6238): the codes, and which step a given code is of.


PERIOD = 30  # seconds
DIGITS = 6
ALGORITHM = "SHA1"
WINDOW = (-1, 0, 1)
"""The steps around the present one whose codes are accepted (RFC 6238, section 5.2)."""
MAX_TYPED = 64  # characters, with blanks


class Parameters(NamedTuple):
    """How the codes of one authenticator app are made; ours are the defaults."""

    digits: int = DIGITS
    period: int = PERIOD
    algorithm: str = ALGORITHM


OWN = Parameters()


def code_at(secret: bytes, step: int, own: Parameters = OWN) -> str:
    """The code of a time step (RFC 4226, section 5.3)."""
    digest = hmac.digest(secret, struct.pack(">Q", step), own.algorithm.lower())
    offset = digest[-1] & 15
    [number] = struct.unpack_from(">I", digest, offset)
    return str((number & 0x7FFFFFFF) % 10**own.digits).zfill(own.digits)


def step_at(moment: datetime, own: Parameters = OWN) -> int:
    """The time step of a moment."""
    return int(moment.timestamp()) // own.period


def read(typed: str, digits: int = DIGITS) -> str | None:
    """The code in what was typed, in ASCII digits (`typed_code`); None if it cannot be one."""
    if len(typed) > MAX_TYPED:
        return None
    code = typed_code(typed)
    return code if len(code) == digits and code.isascii() and code.isdigit() else None


def matching_step(secret: bytes, code: str, moment: datetime, own: Parameters = OWN) -> int | None:
    """The step of `WINDOW` around ``moment`` that has this ``code``; None if none has it.

    All of them are computed and compared, so that the time does not tell which one it was.
    """
    now, found = step_at(moment, own), None
    for difference in WINDOW:
        step = max(now + difference, 0)
        if hmac.compare_digest(code_at(secret, step, own), code):
            found = step
    return found


KIND = "totp enrollment"
PREFIX = "et_"
SECRET_SIZE = 20  # bytes (RFC 4226, section 4)
LIFETIME = timedelta(minutes=15)


class Enrollment(NamedTuple):
    """What the user sees of a new authenticator app.

    ``secret`` in base32; ``otpauth_uri``: the same for an app; ``qr_svg``: as a QR code, dark on
    white; ``enrollment``: the sealed text that comes back with the first code.
    """

    secret: str
    otpauth_uri: str
    qr_svg: str
    enrollment: str


class NewTotp(NamedTuple):
    """A new authenticator app that the user has confirmed with the code of ``step``."""

    secret: bytes
    step: int
    factor_version: int
    proved: Proved
    enrollment: str
    expires_at: datetime


def is_offered(ctx: Context) -> bool:
    """Whether users can add authenticator apps now."""
    return policy.TOTP in ctx.settings.factors and can_keep_secrets(ctx.settings)


def begin(ctx: Context, account: Account, bound_id: uuid.UUID, proved: Proved) -> Enrollment:
    """A new secret for the user, in the session or pending login with the id ``bound_id``.

    ``proved``: what the user has just proved; the caller has required it.
    """
    secret = secrets.token_bytes(SECRET_SIZE)
    values = {
        "secret": b64encode(secret).decode(),
        "version": state.read(ctx, account.id).factor_version,
        "amr": list(proved.amr),
        "at": proved.at.timestamp(),
        "expires": (clock.now() + LIFETIME).timestamp(),
    }
    sealed = ctx.services.sealing.seal(json.dumps(values).encode(), _binding(account, bound_id))
    return _enrollment(ctx, account, secret, PREFIX + sealed)


def shown_again(ctx: Context, account: Account, bound_id: uuid.UUID, enrollment: str) -> Enrollment:
    """What `begin` returned with this ``enrollment``, for a page after a wrong code.

    Raises as `confirm`.
    """
    new = _open(ctx, account, bound_id, enrollment)
    return _enrollment(ctx, account, new.secret, enrollment)


def confirm(
    ctx: Context, account: Account, bound_id: uuid.UUID, enrollment: str, code: str
) -> NewTotp | Wrong:
    """The new authenticator app, if ``code`` is one of its codes now.

    Stores nothing: `store` does. Raises `InvalidEnrollment` if ``enrollment`` has expired, belongs
    to another user or sign-in, or the user's factors have changed since then.
    """
    new = _open(ctx, account, bound_id, enrollment)
    given = read(code)
    step = matching_step(new.secret, given, clock.now()) if given else None
    return Wrong() if step is None else new._replace(step=step)


def store(ctx: Context, account: Account, new: NewTotp) -> uuid.UUID:
    """Insert the authenticator app in place of the former one; its id.

    The caller has locked the row of the user (`factors.service.lock`), and calls
    `factors.service.added` afterwards. Raises `InvalidEnrollment` if the user's factors have
    changed, or the enrollment was used before.
    """
    if state.locked_version(ctx, account.id) != new.factor_version:
        raise InvalidEnrollment
    if not spend(ctx.db, new.enrollment, new.expires_at):
        raise InvalidEnrollment
    ctx.db.execute(delete(TotpFactor).where(TotpFactor.user_id == account.id))
    now, id = clock.now(), uuid.uuid4()
    row = {
        "id": id,
        "user_id": account.id,
        "secret": ctx.services.sealing.seal(new.secret, Binding(SECRET, id, user=account.id)),
        "digits": DIGITS,
        "period": PERIOD,
        "algorithm": ALGORITHM,
        "last_step": new.step,
        "failures": 0,
        "created_at": now,
        "used_at": None,
    }
    ctx.db.execute(insert(TotpFactor), [row])
    return id


def otpauth_uri(issuer: str, email: str, secret: str) -> str:
    """The secret as authenticator apps read it (the key URI format of Google Authenticator).

    A colon separates issuer and account there, so neither has one, not even encoded.
    """
    issuer, email = (" ".join(each.replace(":", " ").split()) for each in (issuer, email))
    name, label = quote(issuer, safe=""), quote(email, safe="")
    return f"otpauth://totp/{name}:{label}?secret={secret}&issuer={name}"


def qr_svg(text: str) -> str:
    """``text`` as a QR code: an ``svg`` element, dark on white whatever the page's colors are."""
    import segno

    drawn = BytesIO()
    segno.make(text, error="m", micro=False).save(
        drawn, kind="svg", scale=4, border=4, light="#fff", unit="px", xmldecl=False, nl=False
    )
    return drawn.getvalue().decode()


def _enrollment(ctx: Context, account: Account, secret: bytes, enrollment: str) -> Enrollment:
    text = b32encode(secret).decode()
    uri = otpauth_uri(ctx.settings.site_name, account.email, text)
    return Enrollment(text, uri, qr_svg(uri), enrollment)


def _open(ctx: Context, account: Account, bound_id: uuid.UUID, enrollment: str) -> NewTotp:
    if not enrollment.startswith(PREFIX):
        raise InvalidEnrollment
    try:
        sealed = enrollment.removeprefix(PREFIX)
        opened = ctx.services.sealing.open(sealed, _binding(account, bound_id))
    except Unusable:
        raise InvalidEnrollment from None
    values = json.loads(opened)
    expires_at = datetime.fromtimestamp(values["expires"], UTC)
    version = state.read(ctx, account.id).factor_version
    if clock.now() >= expires_at or values["version"] != version:
        raise InvalidEnrollment
    proved = Proved(tuple(values["amr"]), datetime.fromtimestamp(values["at"], UTC))
    return NewTotp(b64decode(values["secret"]), 0, version, proved, enrollment, expires_at)


def _binding(account: Account, bound_id: uuid.UUID) -> Binding:
    return Binding(KIND, bound_id, user=account.id)
