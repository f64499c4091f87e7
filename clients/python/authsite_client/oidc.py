"""`OidcLogin` checks the signatures of ID tokens, with `joserfc <https://jose.authlib.org>`_.

The extra ``oidc`` of this distribution installs it.
"""

import threading
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from . import clock
from .code_login import CodeLogin
from .connections import Request
from .errors import Unreachable
from .id_token import invalid, require_id_token
from .responses import read_json

ALGORITHMS = ["RS256", "ES256"]  # those of authsite
MAX_LENGTH = 8192  # characters of an ID token
KEYS_FRESH = 3600  # seconds until the keys are read again
KEYS_PAUSE = 30  # seconds before an unknown key is looked for again


class OidcLogin(CodeLogin):
    """`CodeLogin`, with the signature of each ID token checked by authsite's published keys.

    The keys are kept for an hour, and read again for a token that none of them has signed.
    """

    _lock = threading.Lock()
    _keys: KeySet | None = None
    _read_at = 0.0

    def read_id_token(self, id_token: str) -> dict[str, Any]:
        """The claims of an ID token that authsite has signed.

        Raises `LoginFailed`; `ApiError` and `Unreachable` if the keys cannot be read.
        """
        if len(id_token) > MAX_LENGTH:
            raise invalid("it is too long")
        try:
            return self._decode(id_token, self._current_keys(KEYS_FRESH))
        except (JoseError, ValueError):
            # Perhaps by a key that is newer than ours.
            keys = self._current_keys(KEYS_PAUSE)
        try:
            return self._decode(id_token, keys)
        except (JoseError, ValueError) as error:
            raise invalid("no key of the server has signed it") from error

    def _decode(self, id_token: str, keys: KeySet) -> dict[str, Any]:
        token = jwt.decode(id_token, keys, algorithms=ALGORITHMS)
        require_id_token(token.header)
        return dict(token.claims)

    def _current_keys(self, age: float) -> KeySet:
        """The published keys, at most ``age`` seconds old."""
        with self._lock:
            if self._keys is None or clock.monotonic() - self._read_at > age:
                self._keys, self._read_at = self._read_keys(), clock.monotonic()
            return self._keys

    def _read_keys(self) -> KeySet:
        request = Request("GET", "/.well-known/jwks.json", {"Accept": "application/json"})
        found = read_json(self.client.connections.send(request))
        try:
            return KeySet.import_key_set(found)  # type: ignore[arg-type]
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise Unreachable("the published keys cannot be read") from error
