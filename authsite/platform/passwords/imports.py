"""Which password hashes of other systems can be imported, and in which form they are stored."""

from collections.abc import Sequence

from . import foreign, hashing

# Django writes the name of the algorithm before the hash of the library.
_DJANGO_PREFIXES = ("bcrypt$", "argon2$")
SUPPORTED = (
    "bcrypt ($2a$, $2b$, $2y$), Django's bcrypt_sha256 and pbkdf2_sha256, and Argon2 are supported"
)


class UnsupportedHash(ValueError):
    """The hash cannot be verified, or would take too long; the text says why."""


def stored_form(hashed: str, cost: int, peppers: Sequence[str] = ()) -> str:
    """``hashed`` as it is stored; ``cost``: the setting `bcrypt-cost`. Raises `UnsupportedHash`.

    ``peppers``: those of this service, for hashes of another authsite.
    The cost of bcrypt is at most one step above ``cost``, since `Passwords.check` does not make
    other checks as slow as a more expensive hash (OWASP ASVS 6.3.8). Other forms take at most twice
    the time of ``cost`` (`foreign.above_limits`).
    """
    for prefix in _DJANGO_PREFIXES:
        if hashed.startswith(prefix + "$") or hashed.startswith(prefix + "argon2"):
            hashed = "$" + hashed.removeprefix(prefix).removeprefix("$")
    if row := hashing.parse(hashed):
        if row.cost > cost + 1:
            raise UnsupportedHash(
                f"bcrypt has the cost {row.cost}: set bcrypt-cost to {row.cost - 1} or more first"
            )
        known = {None, hashing.NO_PEPPER, *map(hashing.pepper_id, peppers)}
        if row.pepper not in known:
            raise UnsupportedHash(
                "is a hash of another authsite: add its pepper at the end of password-pepper first"
            )
        return hashed
    if above := foreign.above_limits(hashed, cost):
        raise UnsupportedHash(f"{above}, since every login takes as long as the slowest hash")
    if foreign.has_encoded_salt(hashed):
        raise UnsupportedHash(
            "PBKDF2 has a salt in base64, which Django's form takes as text: no password would fit"
        )
    if foreign.parse(hashed):
        return hashed
    raise UnsupportedHash(f"has an unknown form: {SUPPORTED}")


def scheme_of(stored: str) -> str:
    """The name of the form of a stored hash, for an export; ``unknown`` if nothing verifies it."""
    if row := hashing.parse(stored):
        own = "bcrypt" if row.pepper is None else f"authsite-{hashing.TAG}"
        return "bcrypt_sha256" if row.prehashed else own
    found = foreign.parse(stored)
    return {"pbkdf2": "pbkdf2_sha256", "argon2": "argon2"}[found.scheme] if found else "unknown"
