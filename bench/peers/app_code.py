"""The code of the authenticator apps of the benchmarks (RFC 6238), without a library for it.

The Python of the peers' program has none.
"""

import hashlib
import hmac
import struct
import time

KEY = b"12345678901234567890"  # of all apps (RFC 6238, appendix B)


def code():
    """The six digits of this moment."""
    digest = hmac.digest(KEY, struct.pack(">Q", int(time.time()) // 30), hashlib.sha1)
    at = digest[-1] & 15
    number = struct.unpack(">I", digest[at : at + 4])[0] & 0x7FFFFFFF
    return f"{number % 10**6:06}"
