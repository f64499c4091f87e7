"""bcrypt at cost 4 in place of cost 10, which is the lowest that the settings allow.

One hash of cost 10 takes 60 ms of processor time, and most tests need some. A quick hash says
that its cost is 10, and is checked like any other. Other costs are computed as they are. A hash of
cost 4 takes 1 ms, and is computed once for each password and salt: many tests check the same ones.
"""

from functools import lru_cache
from pathlib import Path

import bcrypt

from tests.support import extent

TESTS = Path(__file__).parent.parent
SYSTEM = TESTS / "system"
PASSWORDS = TESTS / "passwords"
REAL_BCRYPT = (
    SYSTEM,
    TESTS / "clients",
    TESTS / "conformance",
    TESTS / "test_bench.py",
    *(PASSWORDS / f"test_{name}.py" for name in ("hashing", "pool", "scheme")),
)
# All processes of the service are forks here (`commands`), which hash as this process does. A
# whole run has bcrypt itself here, too.
FORKED = (
    SYSTEM / "browser",
    TESTS / "conformance",
    *(
        SYSTEM / "servers" / f"test_{name}.py"
        for name in (
            "races", "code_races", "provider_races", "rate_limit_race", "recovery_races",
            "bridge", "cli_clients", "cli_users", "client_renewal", "cookies", "framing",
            "mail_flows", "nginx", "node_clients", "oauth_clients",
        )
    ),
)  # fmt: skip

in_use = False
_hashpw = bcrypt.hashpw
_remembered = lru_cache(maxsize=4096)(_hashpw)


def use(quick):
    """Switch it on or off in this process."""
    global in_use
    in_use = quick
    bcrypt.hashpw = _quick if quick else _hashpw


def wanted(path):
    """Whether the tests of this file hash quickly."""
    forked = () if extent.ALL else FORKED
    return _is_in(path, forked) or not _is_in(path, REAL_BCRYPT)


def _is_in(path, others):
    return any(path.is_relative_to(other) for other in others)


def _quick(password, salt):
    prefix, cost, rest = salt[:4], salt[4:6], salt[6:]
    if cost != b"10":
        return _hashpw(password, salt)
    return prefix + cost + _remembered(password, prefix + b"04" + rest)[6:]
