"""The MACs under a key of seals: of a seal, of a purge, and of the acceptance of a late seal."""

import hmac

from authsite.platform.crypto.keys import Key
from authsite.platform.runtime import clock

from .seal import NO_MAC, AuditKeys, Seal, Segment, line
from .stored import moment_text


def new_seal(key: Key, id_: int, former: Seal | None, segment: Segment) -> Seal:
    """The seal with the number ``id_`` over ``segment`` and over the seal before."""
    unsigned = Seal(
        id_, moment_text(clock.now()), segment.rows, segment.first_id, segment.last_id,
        moment_text(segment.newest_at), key.fingerprint.hex(), segment.digest,
        former.mac if former else NO_MAC, NO_MAC,
    )  # fmt: skip
    return unsigned._replace(mac=_mac_of(key, unsigned))


def _mac_of(key: Key, seal: Seal) -> str:
    return key.mac(line("authsite audit seal", *seal[: Seal._fields.index("mac")])).hex()


def is_ours(keys: AuditKeys, seal: Seal) -> bool:
    """Whether authsite has made ``seal``, by one of the keys, and nothing of it was changed."""
    return any(
        each.covers(seal)
        and each.key.fingerprint.hex() == seal.key
        and _equal(_mac_of(each.key, seal), seal.mac)
        for each in keys
    )


def is_purged(keys: AuditKeys, seal: Seal) -> bool:
    """Whether authsite has made ``seal``, and has deleted its events and all before it."""
    proof = seal.purged_mac
    return (
        proof is not None
        and is_ours(keys, seal)
        and any(each.covers(seal) and _equal(purged_mac_of(each.key, seal), proof) for each in keys)
    )


def purged_mac_of(key: Key, seal: Seal) -> str:
    """The proof that authsite has deleted the events of ``seal`` and all before it."""
    return key.mac(line("authsite audit purged", seal.id, seal.last_id, seal.mac)).hex()


def late_mac_of(key: Key, id_: int, mac: str) -> str:
    """The proof that an administrator has accepted the late seal of this number and MAC."""
    return key.mac(line("authsite audit late seal", id_, mac)).hex()


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
