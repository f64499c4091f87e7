"""Another provider on 127.0.0.1, which plays every preset and gives wrong answers on demand.

`fake_provider` is a context manager. `FakeProvider.settings` are keyword arguments of a site, and
`FakeProvider.authorize` does what a person's browser does there. A test changes
``provider.claims``, ``provider.profile`` and ``provider.discovery`` (what replaces parts of each
answer; None leaves a member out), ``provider.user`` and ``provider.emails`` of GitHub, or a whole
answer: its path and a function in ``provider.faults``.
"""

import hmac
import json
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from contextlib import contextmanager
from hashlib import sha256
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

from joserfc import jwk, jws

from authsite.platform.runtime import clock
from authsite.platform.settings.secret import Secret
from authsite.platform.settings.sections.providers import TENANT, Provider
from tests.support.tiny_server import tiny_server

CLIENT_ID, CLIENT_SECRET = "our-client", "our secret: &=+%"
DIRECTORY = "72f988bf-86f1-41af-91ab-2d7cd011db47"  # a tenant of Microsoft Entra
_KEYS = {}  # made once in a process: an RSA key takes a tenth of a second

GOOGLE_CLAIMS = {"email": "ann@gmail.com", "email_verified": True, "name": "Ann Example"}
GOOGLE_SCOPES = {
    "email": "https://www.googleapis.com/auth/userinfo.email",
    "profile": "https://www.googleapis.com/auth/userinfo.profile",
}
PRESET_CLAIMS = {
    "google": GOOGLE_CLAIMS,
    "microsoft": {"tid": DIRECTORY, "email": "ann@corp.example", "name": "Ann", "xms_edov": True},
    "gitlab": {"email": "ann@example.com", "email_verified": True, "name": "Ann"},
    "oidc": {"email": "ann@example.com", "email_verified": True, "name": "Ann"},
    "github": {},
}


def key(kid, kind="RSA"):
    """The private key with this id; the same one in all tests."""
    if (kid, kind) not in _KEYS:
        size = 2048 if kind == "RSA" else "P-256"
        _KEYS[kid, kind] = jwk.generate_key(kind, size, {"kid": kid, "use": "sig"})
    return _KEYS[kid, kind]


class FakeProvider:
    """One provider; see the module."""

    def __init__(self, preset="oidc", name=None):
        self.preset, self.name = preset, name or preset
        self.subject = "248289761001"
        self.claims = dict(PRESET_CLAIMS[preset])
        self.profile, self.discovery = {}, {}
        self.user = {"id": 583231, "login": "octocat", "name": "The Octocat", "email": None}
        self.emails = [
            {"email": "old@example.com", "primary": False, "verified": True, "visibility": None},
            {
                "email": "ann@example.com",
                "primary": True,
                "verified": True,
                "visibility": "private",
            },
        ]
        self.faults = {}  # path -> what answers instead: a function of the request
        self.codes, self.access_tokens = {}, set()
        self.header = {}
        self.keys = [key("k1")]
        self.signing_key = self.keys[0]
        self.algorithm = "RS256"
        self.forge = None  # makes the whole ID token instead
        self.sent = {}  # the parameters of the authorization request whose code is redeemed
        self.access_token = None  # instead of a new one
        self.return_error = None
        self.return_more = {}
        self.server = None

    @property
    def url(self):
        return self.server.url

    @property
    def issuer(self):
        """What `issuer` of the settings is."""
        return f"{self.url}/common/v2.0" if self.preset == "microsoft" else self.url

    @property
    def paths(self):
        """The paths of the requests so far, without their queries."""
        return [each.path.partition("?")[0] for each in self.server.requests]

    def provider(self, **changes):
        """The provider as a value of the settings."""
        github = self.preset == "github"
        values = {
            "name": self.name,
            "preset": self.preset,
            "client_id": CLIENT_ID,
            "client_secret": Secret(CLIENT_SECRET),
            "issuer": self.issuer,
            "label": self.name.title(),
            "scope": ("read:user", "user:email") if github else ("openid", "email", "profile"),
            "trust_email": self.preset in ("google", "github"),
            "tenants": (DIRECTORY,) if self.preset == "microsoft" else (),
        }
        return Provider(**{**values, **changes})

    def settings(self, **changes):
        """The keyword arguments of `site_with`; ``changes`` are further keys of the provider."""
        values = {
            "preset": self.preset,
            "issuer": self.issuer,
            "client-id": CLIENT_ID,
            "client-secret": CLIENT_SECRET,
        }
        if self.preset == "microsoft":
            values["tenants"] = DIRECTORY
        values |= {name.replace("_", "-"): value for name, value in changes.items()}
        return {f"providers.{self.name}.{key}": value for key, value in values.items()}

    def authorize(self, url):
        """A person signs in at once: the URL that the browser returns to."""
        query = dict(parse_qsl(urlsplit(url).query))
        back = {"state": query["state"], **self.return_more}
        if self.return_error:
            back["error"] = self.return_error
        else:
            code = f"code-{len(self.codes)}"
            self.codes[code] = query
            back["code"] = code
        return f"{query['redirect_uri']}?{urlencode(back)}"

    def answer(self, request):
        """What a test has put in the place of an answer, or the right one."""
        path = urlsplit(request.path).path
        return self.faults.get(path, self.respond)(request)

    def respond(self, request):
        """The right answer to a request."""
        path = urlsplit(request.path).path
        if path.endswith("/authorize"):
            return 302, {"Location": self.authorize(request.path)}, b""
        if path.endswith("/.well-known/openid-configuration"):
            return 200, {}, self.metadata()
        if path.endswith("/keys"):
            return 200, {}, {"keys": [each.as_dict(private=False) for each in self.keys]}
        if path.endswith(("/token", "/access_token")):
            return self._token(request)
        if request.headers["Authorization"].removeprefix("Bearer ") not in self.access_tokens:
            return 401, {}, {"message": "Bad credentials"}
        if path.endswith("/user/emails"):
            return 200, {}, self.emails
        if path.endswith("/user"):
            return 200, {}, self.user
        if path.endswith("/userinfo"):
            return 200, {}, _merged({"sub": self.subject}, self.profile)
        return 404, {}, {}

    def metadata(self):
        issuer = self.issuer.replace("/common/", f"/{TENANT}/")
        return _merged(
            {
                "issuer": issuer,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "userinfo_endpoint": f"{self.url}/userinfo",
                "jwks_uri": f"{self.url}/keys",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "token_endpoint_auth_methods_supported": [
                    "client_secret_post",
                    "client_secret_basic",
                ],
            },
            self.discovery,
        )

    def _token(self, request):
        sent = self.codes.pop(request.form.get("code"), None)
        client = (request.form.get("client_id"), request.form.get("client_secret"))
        if header := request.headers.get("Authorization"):
            pair = b64decode(header.removeprefix("Basic ")).decode().split(":")
            client = tuple(map(unquote_plus, pair))
        if client != (CLIENT_ID, CLIENT_SECRET):
            return 401, {}, {"error": "invalid_client"}
        if sent is None or sent["redirect_uri"] != request.form.get("redirect_uri"):
            return self._no_code()
        verifier = request.form.get("code_verifier", "")
        if _base64url(sha256(verifier.encode()).digest()) != sent["code_challenge"]:
            return self._no_code()
        self.sent = sent
        access_token = self.access_token or f"access-{len(self.access_tokens)}"
        self.access_tokens.add(access_token)
        answer = {"access_token": access_token, "token_type": "Bearer", "expires_in": 3600}
        answer["scope"] = self.answered_scope(sent["scope"].split())
        if self.preset != "github":
            answer["id_token"] = self.forge(self) if self.forge else self.signed()
        elif "application/json" not in request.headers.get("Accept", ""):
            return 200, {}, urlencode(answer).encode()
        return 200, {}, answer

    def answered_scope(self, asked):
        """The ``scope`` of a token answer, in the words of the real provider.

        Google has URLs, GitHub commas and implied scopes, and Microsoft Entra leaves ``openid`` and
        others out that are for it alone, and adds those of Graph.
        """
        match self.preset:
            case "google":
                long = [GOOGLE_SCOPES.get(each, each) for each in asked]
                return " ".join(sorted(long))
            case "github":
                return ",".join(
                    each for each in asked if each != "user:email" or "user" not in asked
                )
            case "microsoft":
                return " ".join(each for each in asked if each not in ("openid", "offline_access"))
            case _:
                return " ".join(asked)

    def _no_code(self):
        if self.preset == "github":  # with the status of a success
            return 200, {}, {"error": "bad_verification_code"}
        return 400, {}, {"error": "invalid_grant"}

    def sign_with(self, algorithm):
        """Sign with this algorithm and a key for it, which is published."""
        self.algorithm = algorithm
        self.signing_key = key("k1", "EC" if algorithm == "ES256" else "RSA")
        self.keys = [self.signing_key]

    def signed(self):
        """The ID token for the present authorization request."""
        header = _merged({"alg": self.algorithm, "kid": self.signing_key.kid}, self.header)
        return _serialized(header, self.payload(), self.algorithm, self.signing_key)

    def forged(self, secret):
        """The ID token with an HMAC under a secret that is not one (HS256)."""
        header = _base64url(json.dumps({"alg": "HS256", "kid": self.signing_key.kid}).encode())
        signed = f"{header}.{self.payload()}"
        return f"{signed}.{_base64url(hmac.digest(secret, signed.encode(), 'sha256'))}"

    def payload(self, **changes):
        """The claims of the ID token for the present authorization request, in base64url."""
        now = int(clock.now().timestamp())
        issuer = self.metadata()["issuer"].replace(TENANT, self.claims.get("tid") or "")
        claims = {
            "iss": issuer,
            "sub": self.subject,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 300,
            "nonce": self.sent.get("nonce"),
        }
        return _base64url(json.dumps(_merged(_merged(claims, self.claims), changes)).encode())


def _serialized(header, payload, algorithm, signing_key):
    registry = jws.JWSRegistry(algorithms=[algorithm], strict_check_header=False)
    raw = urlsafe_b64decode(payload + "==")
    return jws.serialize_compact(header, raw, signing_key, registry=registry)


def _base64url(raw):
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def _merged(own, changes):
    """``own`` with ``changes``; those that are None are left out."""
    return {name: value for name, value in {**own, **changes}.items() if value is not None}


@contextmanager
def fake_provider(preset="oidc", name=None):
    """A `FakeProvider` that answers until the end of the block."""
    fake = FakeProvider(preset, name)
    with tiny_server(fake.answer) as server:
        fake.server = server
        yield fake
