"""The form of recovery codes: 120 random bits in Crockford's base32 (OWASP ASVS 6.5.2)."""

import secrets

from authsite.platform.runtime.typed import typed_code

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH = 24  # characters of five bits
GROUP = 4
MAX_TYPED = 96  # characters, with blanks and dashes

_READ_AS = str.maketrans("OIL", "011")  # Crockford's rule for letters that look like digits


def new_code() -> str:
    """A new code, without dashes."""
    return "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))


def shown(code: str) -> str:
    """The code in groups of four, as people read it."""
    return "-".join(code[at : at + GROUP] for at in range(0, LENGTH, GROUP))


def read(typed: str) -> str | None:
    """The code in what was typed, in any case (`typed_code`); None if it cannot be one."""
    if len(typed) > MAX_TYPED:
        return None
    code = typed_code(typed).upper().translate(_READ_AS)
    return code if len(code) == LENGTH and set(code) <= set(ALPHABET) else None
