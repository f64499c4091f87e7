"""RSA keys from a stock, for the tests whose subject is not how keys are made.

To make one takes 40 ms of processor time. To read one takes 30 ms, since OpenSSL checks it. Here a
process makes each key once and gives them in turn. No test gets one twice, but what a fixture holds
for longer than a test may be given to a later one, too. A key that was read is remembered. Servers
and commands, which are other processes, make keys as usual.
"""

import json
import threading
from pathlib import Path

from joserfc import jwk

from tests.support import extent

REAL_KEYS = Path(__file__).parent.parent / "oidc" / "keys"

_generate, _import = jwk.RSAKey.generate_key, jwk.import_key
_stock, _read = {}, {}  # by the number of bits: keys; by the text of a private JWK: the key
_given, _lock = {}, threading.Lock()


def begin(path):
    """Before a test of this file: all keys of the stock can be given, or keys are made as usual."""
    _given.clear()
    quick = not extent.ALL and not path.is_relative_to(REAL_KEYS)
    jwk.RSAKey.generate_key = _from_stock if quick else _generate
    jwk.import_key = _remembered if quick else _import


def _from_stock(bits, *more, **named):
    if more or named:
        return _generate(bits, *more, **named)
    with _lock:
        stock, index = _stock.setdefault(bits, []), _given.get(bits, 0)
        if index == len(stock):
            stock.append(_generate(bits))
        _given[bits] = index + 1
        return stock[index]


def _remembered(data, *more, **named):
    if more or named or not (isinstance(data, dict) and data.get("kty") == "RSA" and "d" in data):
        return _import(data, *more, **named)
    text = json.dumps(data, sort_keys=True)
    if text not in _read:
        _read[text] = _import(data)
    return _read[text]
