"""A token endpoint, userinfo and published keys in this process, whose answers a test decides."""

import hashlib
import json
from base64 import urlsafe_b64encode
from urllib.parse import parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

from authsite_client import clock
from tests.client.conftest import CLIENT
from tests.support.tiny_server import tiny_server

SUB = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
CALLBACK = "https://app.example.org/signed-in"
ABOUT = {"sub": SUB, "name": "Ann", "email": "ann@example.com", "email_verified": True}


def new_key(kid):
    """A key as authsite makes them."""
    return ECKey.generate_key("P-256", {"kid": kid, "alg": "ES256", "use": "sig"})


class FakeServer:
    """``claims`` and ``about`` change what the next sign-in is answered with.

    It signs with ``key`` and publishes ``published``.
    """

    def __init__(self):
        self.key = new_key("first")
        self.published = [self.key]
        self.claims, self.about, self.nonce = {}, ABOUT, None
        self.header = {}
        self.id_token = None
        self.redeemed = []
        self.asked_for_keys = 0

    def __call__(self, request):
        if request.path.startswith("/oauth/authorize?"):
            return 302, {"Location": self.answer_to(urlsplit(request.path).query)}, b""
        if request.path == "/v1/oauth/token":
            self.redeemed.append(request.form)
            return 200, {}, self.tokens()
        if request.path == "/v1/oauth/userinfo":
            assert request.headers["Authorization"] == "Bearer at_1"
            return 200, {}, self.about
        assert request.path == "/.well-known/jwks.json"
        self.asked_for_keys += 1
        return 200, {}, KeySet(self.published).as_dict(private=False)

    def answer_to(self, query):
        """Where the browser goes on to: the user has signed in and said yes."""
        sent = dict(parse_qsl(query))
        self.nonce = sent["nonce"]
        back = {"code": "ac_1", "state": sent["state"], "iss": self.url}
        return f"{sent['redirect_uri']}?{urlencode(back)}"

    def tokens(self):
        tokens = {"access_token": "at_1", "refresh_token": "rt_1", "expires_in": 600}
        return {**tokens, "id_token": self.id_token or self.signed()}

    def signed(self):
        """An ID token with `claims`, where None leaves a claim out."""
        now = int(clock.time())
        claims = {
            "iss": self.url, "sub": SUB, "aud": CLIENT[0], "nonce": self.nonce,
            "iat": now, "exp": now + 3600, "auth_time": now, **self.claims,
        }  # fmt: skip
        claims = {name: value for name, value in claims.items() if value is not None}
        header = {"alg": "ES256", "kid": self.key.kid, **self.header}
        return jwt.encode(header, claims, self.key, algorithms=["ES256"])


def without_signature(claims):
    """An ID token without a signature (alg none)."""
    parts = (json.dumps(each).encode() for each in ({"alg": "none"}, claims))
    head, payload = (urlsafe_b64encode(each).rstrip(b"=").decode() for each in parts)
    return f"{head}.{payload}."


def challenge_of(verifier):
    """RFC 7636, section 4.2."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def fake_server():
    """A running `FakeServer`; ``.url`` is its issuer."""
    fake = FakeServer()
    running = tiny_server(fake)
    return fake, running
