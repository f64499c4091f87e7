"""Password hashes of other systems, other than bcrypt: verified as they are, and never made.

PBKDF2 as Django stores it (``pbkdf2_sha256$<iterations>$<salt>$<hash>``), and Argon2 in the PHC
string format, as PHP and argon2-cffi write it (RFC 9106, section 3.1, has the parameters). A hash
above the limits is none of a supported format, so that no row can occupy the hash pool for seconds.
An import takes less: at most twice the time of a new hash, as `above_limits` estimates it.
"""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from functools import partial
from math import ceil, log2
from typing import Literal, TypeAlias

MAX_PBKDF2_ITERATIONS = 2_000_000  # half a second; Django 6.0 has 1,200,000
MAX_ARGON2_MEMORY = 131_072  # KiB, for each hash thread
MAX_ARGON2_WORK = 524_288  # memory in KiB times passes: half a second
MAX_ARGON2_LANES = 16

# These take at most as long as one of the 2^cost rounds of bcrypt (60 microseconds), measured.
PBKDF2_PER_ROUND = 200  # iterations
ARGON2_PER_ROUND = 50  # memory in KiB times passes
TIMES_OF_BCRYPT = 2
_KIB_PER_LANE = 128  # a pass starts four threads for each lane, which take as long as these

Scheme: TypeAlias = Literal["pbkdf2", "argon2"]

_PBKDF2 = re.compile(
    r"pbkdf2_sha256\$(?P<iterations>[1-9][0-9]{0,7})\$(?P<salt>[\x21-\x23\x25-\x7e]{1,128})\$"
    r"(?P<hash>[A-Za-z0-9+/]{43}=)"
)
_ARGON2 = re.compile(
    r"\$argon2(?P<type>id|i|d)\$v=(?P<version>16|19)"
    r"\$m=(?P<memory>[1-9][0-9]{0,9}),t=(?P<passes>[1-9][0-9]{0,9}),p=(?P<lanes>[1-9][0-9]{0,3})"
    r"\$(?P<salt>[A-Za-z0-9+/]{11,88})\$(?P<hash>[A-Za-z0-9+/]{16,88})"
)


@dataclass(frozen=True, slots=True)
class Argon2:
    """Parameters of Argon2: memory in KiB, passes, lanes, type (d, i, id) and version."""

    memory: int
    passes: int
    lanes: int
    type: str = "id"
    version: int = 19

    @property
    def work(self) -> int:
        """What the time is proportional to: the memory of all passes, and the threads of lanes."""
        return self.passes * (self.memory + self._threads)

    def compute(self, password: bytes, salt: bytes, length: int) -> bytes:
        """The hash. The library is imported by the first one: few sites need it."""
        from argon2 import low_level

        type_ = {"d": low_level.Type.D, "i": low_level.Type.I, "id": low_level.Type.ID}[self.type]
        # By position: password, salt, passes, memory, lanes, length, type, version.
        return low_level.hash_secret_raw(
            password, salt, self.passes, self.memory, self.lanes, length, type_, self.version
        )

    def scaled_to(self, work: int) -> "Argon2":
        """The same with less memory, so that it takes about ``work``."""
        least = 8 * self.lanes  # RFC 9106, section 3.1
        memory = max(least, work // self.passes - self._threads)
        return Argon2(memory, self.passes, self.lanes, self.type)

    @property
    def _threads(self) -> int:
        return _KIB_PER_LANE * self.lanes if self.lanes > 1 else 0


@dataclass(frozen=True, slots=True)
class Pbkdf2:
    """Parameters of PBKDF2 with HMAC-SHA-256."""

    iterations: int

    @property
    def work(self) -> int:
        """What the time is proportional to."""
        return self.iterations

    def compute(self, password: bytes, salt: bytes, length: int) -> bytes:
        """The hash (RFC 8018, section 5.2)."""
        return hashlib.pbkdf2_hmac("sha256", password, salt, self.iterations, length)

    def scaled_to(self, work: int) -> "Pbkdf2":
        """The same with ``work`` iterations."""
        return Pbkdf2(work)


@dataclass(frozen=True, slots=True)
class ForeignHash:
    """A parsed hash."""

    scheme: Scheme
    parameters: Pbkdf2 | Argon2
    salt: bytes
    hashed: bytes

    def compute(self, password: bytes) -> bytes:
        """The hash of ``password`` with this salt, to be compared with ``hashed``."""
        return self.parameters.compute(password, self.salt, len(self.hashed))


def parse(stored: str | None) -> ForeignHash | None:
    """Parse ``stored``; None for anything else, and for a hash above the limits."""
    return None if not stored or above_limits(stored) else _parsed(stored)


def _parsed(stored: str) -> ForeignHash | None:
    if match := _PBKDF2.fullmatch(stored):
        hashed = base64.b64decode(match["hash"])
        parameters = Pbkdf2(int(match["iterations"]))
        return ForeignHash("pbkdf2", parameters, match["salt"].encode(), hashed)
    if match := _ARGON2.fullmatch(stored):
        try:
            salt, hashed = _unpadded(match["salt"]), _unpadded(match["hash"])
        except binascii.Error:
            return None
        return ForeignHash("argon2", _argon2(match), salt, hashed)
    return None


def has_encoded_salt(stored: str) -> bool:
    """Whether the salt of a hash of PBKDF2 is padded base64, so that its bytes are meant.

    Django's form takes the characters themselves, and its own salts are letters and digits. A row
    with such a salt was converted from another system, and verifies with no password.
    """
    match = _PBKDF2.fullmatch(stored)
    if match is None or not match["salt"].endswith("="):
        return False
    try:
        base64.b64decode(match["salt"], validate=True)
    except binascii.Error:
        return False
    return True


def above_limits(stored: str, cost: int | None = None) -> str | None:
    """Why a hash of a format of this module would take too long or too much memory, or None.

    ``cost``: also above `TIMES_OF_BCRYPT` times bcrypt of this cost. Every login takes as long as
    the most expensive imported hash (`SlowestSeen`), so that one row must not slow down all.
    """
    if (match := _PBKDF2.fullmatch(stored)) and int(match["iterations"]) > MAX_PBKDF2_ITERATIONS:
        return f"PBKDF2 has more than {MAX_PBKDF2_ITERATIONS:,} iterations"
    if match := _ARGON2.fullmatch(stored):
        argon2 = _argon2(match)
        if argon2.memory > MAX_ARGON2_MEMORY:
            return f"Argon2 has more than {MAX_ARGON2_MEMORY:,} KiB of memory"
        if argon2.work > MAX_ARGON2_WORK:
            return f"Argon2 has more than {MAX_ARGON2_WORK:,} KiB times passes"
        if argon2.lanes > MAX_ARGON2_LANES or argon2.memory < 8 * argon2.lanes:
            return f"Argon2 has more than {MAX_ARGON2_LANES} lanes, or too little memory for them"
    found = _parsed(stored)
    if cost is None or found is None:
        return None
    per_round = PBKDF2_PER_ROUND if found.scheme == "pbkdf2" else ARGON2_PER_ROUND
    times = found.parameters.work / (TIMES_OF_BCRYPT * per_round * 2**cost)
    if times <= 1:
        return None
    return (
        f"takes more than {TIMES_OF_BCRYPT} times as long as bcrypt-cost {cost}: set bcrypt-cost "
        f"to {cost + ceil(log2(times))} or more first"
    )


class SlowestSeen:
    """The most expensive hash of each scheme that this process has checked.

    Every check computes as much of each scheme, so that the time does not tell an imported hash,
    an upgraded one and an unknown user apart. Without imported hashes it costs nothing.
    """

    def __init__(self) -> None:
        self._slowest: dict[Scheme, Pbkdf2 | Argon2] = {}

    def padding(self, row: ForeignHash | None) -> list[partial[bytes]]:
        """What a check of ``row`` (None: a bcrypt hash or no user) computes in addition."""
        if row and row.parameters.work > self._work(row.scheme):
            self._slowest[row.scheme] = row.parameters
        additional = []
        for scheme, slowest in tuple(self._slowest.items()):  # other threads add to it
            missing = slowest.work - (row.parameters.work if row and row.scheme == scheme else 0)
            if missing:
                work = slowest.scaled_to(missing).compute
                additional.append(partial(work, b"." * 16, b"." * 16, 32))
        return additional

    def _work(self, scheme: Scheme) -> int:
        slowest = self._slowest.get(scheme)
        return slowest.work if slowest else 0


def _argon2(match: re.Match[str]) -> Argon2:
    memory, passes, lanes = (int(match[name]) for name in ("memory", "passes", "lanes"))
    return Argon2(memory, passes, lanes, match["type"], int(match["version"]))


def _unpadded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
