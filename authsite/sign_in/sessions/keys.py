"""The keys of a browser session: 256 random bits in a cookie, of which its row holds only a hash.

Without `session-cookie-domain` a session has one key. With it there are two, since the applications
behind forward auth receive the cookie of the domain: the session key opens authsite's own pages,
and the guard key opens the rest. Each is derived from the one before::

    session key  ->  guard key  ->  hash in the row

HMAC-SHA-256 cannot be inverted, so a guard key opens no page of authsite. As both lead to one hash,
either cookie finds the row by the same index, and the table needs no further column.
"""

import hmac
from base64 import urlsafe_b64encode
from hashlib import sha256

_GUARD_KEY = b"authsite guard key"
_GUARD_HASH = b"authsite hash of a guard key"


def key_hash(key: str) -> str:
    """SHA-256 in hex, which is enough for 256 random bits."""
    return sha256(_bytes(key)).hexdigest()


def guard_key(key: str) -> str:
    """The guard key of the session with this session key."""
    return urlsafe_b64encode(hmac.digest(_bytes(key), _GUARD_KEY, sha256)).rstrip(b"=").decode()


def guard_hash(key: str) -> str:
    """The hash in the row of the session with this guard key.

    It is not `key_hash`: without the setting, which may be removed, no guard key is a session key.
    """
    return hmac.digest(_bytes(key), _GUARD_HASH, sha256).hex()


def row_hash(key: str, *, shared: bool) -> str:
    """The hash in the row of the session with this session key.

    ``shared``: whether `session-cookie-domain` is set.
    """
    return guard_hash(guard_key(key)) if shared else key_hash(key)


def _bytes(key: str) -> bytes:
    return key.encode(errors="replace")
