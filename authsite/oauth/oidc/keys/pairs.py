"""Key pairs that sign ID tokens, as JSON Web Keys (RFC 7517)."""

import json
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, RSAKey

ALGORITHMS = ("RS256", "ES256")  # names of RFC 7518, section 3.1; each has its own chain of keys
RSA_BITS = 2048


class Pair(NamedTuple):
    """A new key pair. ``kid``: the thumbprint of RFC 7638. ``public`` and ``private``: JWKs."""

    kid: str
    alg: str
    public: str
    private: bytes


def new_pair(alg: str) -> Pair:
    """A key pair for one of `ALGORITHMS`; a pair for RS256 takes about 0.1 s."""
    key = _new_key(alg)
    kid = key.thumbprint()
    while kid.startswith("-"):  # a command line would take it for an option
        key = _new_key(alg)
        kid = key.thumbprint()
    about = {"kid": kid, "use": "sig", "alg": alg}
    public = {**key.as_dict(private=False), **about}
    private = {**key.as_dict(private=True), **about}
    return Pair(kid, alg, json.dumps(public), json.dumps(private).encode())


def _new_key(alg: str) -> "RSAKey | ECKey":
    from joserfc.jwk import ECKey, RSAKey

    return RSAKey.generate_key(RSA_BITS) if alg == "RS256" else ECKey.generate_key("P-256")


def read_key(jwk: str | bytes) -> "RSAKey | ECKey":
    """The key in the text of a JWK that `new_pair` has made. Raises `ValueError`."""
    from joserfc.errors import JoseError
    from joserfc.jwk import import_key

    try:
        return cast("RSAKey | ECKey", import_key(json.loads(jwk)))
    except JoseError as error:
        raise ValueError("not a key") from error
