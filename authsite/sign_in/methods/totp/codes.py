"""Time-based one-time passwords (RFC 6238): the codes, and which step a given code is of."""

import hmac
import struct
from datetime import datetime
from typing import NamedTuple

from authsite.platform.runtime.typed import typed_code

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
