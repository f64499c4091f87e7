"""A software authenticator: what a browser makes with a passkey, right or wrong in one respect.

Written from Web Authentication Level 3 (sections 5.8.1, 6.1, 6.5.1), without the library that the
service uses.
"""

import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

ORIGIN = "http://localhost"
UP, UV, BE, BS, AT, ED = 0x01, 0x04, 0x08, 0x10, 0x40, 0x80


def text_of(raw):
    """Base64url without padding."""
    return urlsafe_b64encode(raw).decode().rstrip("=")


def bytes_of(text):
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Ec2:
    """ES256."""

    def __init__(self):
        self.private = ec.generate_private_key(ec.SECP256R1())
        numbers = self.private.public_key().public_numbers()
        x, y = (each.to_bytes(32, "big") for each in (numbers.x, numbers.y))
        self.cose = {1: 2, 3: -7, -1: 1, -2: x, -3: y}

    def sign(self, data):
        return self.private.sign(data, ec.ECDSA(SHA256()))


class Okp:
    """EdDSA."""

    def __init__(self):
        self.private = ed25519.Ed25519PrivateKey.generate()
        self.cose = {1: 1, 3: -8, -1: 6, -2: self.private.public_key().public_bytes_raw()}

    def sign(self, data):
        return self.private.sign(data)


class Rsa:
    """RS256."""

    def __init__(self, bits=2048):
        self.private = rsa.generate_private_key(65537, bits)
        n = self.private.public_key().public_numbers().n
        self.cose = {1: 3, 3: -257, -1: n.to_bytes(bits // 8, "big"), -2: b"\x01\x00\x01"}

    def sign(self, data):
        return self.private.sign(data, padding.PKCS1v15(), SHA256())


class Authenticator:
    """One passkey. ``synced``: backup eligible; ``counts``: whether it has a counter."""

    def __init__(self, key=None, *, synced=True, counts=False, aaguid=bytes(16), origin=ORIGIN):
        self.key, self.synced, self.counts, self.aaguid = key or Ec2(), synced, counts, aaguid
        self.origin = origin
        self.id, self.handle, self.counter = secrets.token_bytes(32), None, 0

    def create(self, options, **wrong):
        """`navigator.credentials.create`: the JSON of the credential for these options.

        ``wrong``: what differs from a right one, see `_client_data`, `_data` and the lines below.
        """
        self.handle = options["user"]["id"]
        client_data = self._client_data("webauthn.create", options, wrong)
        public = wrong.get("cose", self.key.cose)
        encoded = public if isinstance(public, bytes) else cbor2.dumps(public)
        id = wrong.get("attested_id", self.id)
        attested = self.aaguid + len(id).to_bytes(2, "big") + id + encoded
        rp_id = options["rp"]["id"]
        data = self._data(rp_id, wrong, AT, wrong.get("attested", attested))
        statement = {"fmt": "none", "attStmt": {}, **wrong.get("statement", {})}
        response = {
            "clientDataJSON": text_of(client_data),
            "attestationObject": text_of(cbor2.dumps({**statement, "authData": data})),
            "transports": ["internal", "hybrid"],
        }
        return self._credential(response, wrong)

    def get(self, options, **wrong):
        """`navigator.credentials.get`, likewise."""
        client_data = self._client_data("webauthn.get", options, wrong)
        data = self._data(options["rpId"], wrong)
        signer = wrong.get("signer", self.key)
        response = {
            "clientDataJSON": text_of(client_data),
            "authenticatorData": text_of(data),
            "signature": text_of(signer.sign(data + sha256(client_data).digest())),
            "userHandle": wrong.get("handle", self.handle),
        }
        return self._credential(response, wrong)

    def _client_data(self, type, options, wrong):
        found = {
            "type": wrong.get("type", type),
            "challenge": wrong.get("challenge", options["challenge"]),
            "origin": wrong.get("origin", self.origin),
            "crossOrigin": False,
            **wrong.get("client_data", {}),
        }
        return wrong.get("raw_client_data", json.dumps(found).encode())

    def _data(self, rp_id, wrong, more=0, rest=b""):
        flags = UP | more | (0 if wrong.get("unverified") else UV)
        if wrong.get("synced", self.synced):
            flags |= BE | BS
        flags ^= wrong.get("flip", 0)
        self.counter += self.counts
        counter = wrong.get("counter", self.counter)
        domain = wrong.get("rp_id", rp_id)
        return sha256(domain.encode()).digest() + bytes([flags]) + counter.to_bytes(4, "big") + rest

    def _credential(self, response, wrong):
        return {
            "id": text_of(wrong.get("id", self.id)),
            "rawId": text_of(wrong.get("raw_id", wrong.get("id", self.id))),
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
            "response": {**response, **wrong.get("response", {})},
            **wrong.get("credential", {}),
        }
