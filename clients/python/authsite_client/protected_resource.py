"""An application as a protected resource, which tells clients where they get tokens (RFC 9728)."""

import json
from urllib.parse import urlsplit

from .errors import InvalidToken, MissingToken, VerificationError
from .identity import Identity
from .resources import is_among

WELL_KNOWN = "/.well-known/oauth-protected-resource"
HEADERS = (
    ("Content-Type", "application/json"),
    ("Cache-Control", "public, max-age=300"),
    ("Access-Control-Allow-Origin", "*"),
)


class ProtectedResource:
    """The ``resource`` of a middleware: its tokens are for this resource alone.

    ``uri`` is the resource as it was registered (`authsite resource add`), ``issuer`` the URL of
    authsite, ``scopes`` those that clients may need, separated by spaces, ``name`` for people.
    Raises ValueError for a ``uri`` that is not an http URL without query and fragment.
    """

    def __init__(self, uri: str, issuer: str, scopes: str = "", name: str | None = None) -> None:
        parts = urlsplit(uri)
        if parts.scheme not in ("http", "https") or not parts.netloc or "?" in uri or "#" in uri:
            raise ValueError(f"give a URL such as https://mcp.example.com/mcp, and not {uri!r}")
        self.uri, self.scopes = uri, " ".join(scopes.split())
        self.metadata_path = f"{WELL_KNOWN}{parts.path.rstrip('/')}"
        self.metadata_url = f"{parts.scheme}://{parts.netloc}{self.metadata_path}"
        found = {
            "resource": uri,
            "authorization_servers": [issuer],
            "scopes_supported": scopes.split(),
            "bearer_methods_supported": ["header"],
            "resource_name": name,
        }
        self.metadata = json.dumps({key: value for key, value in found.items() if value}).encode()

    def serves(self, method: str, path: str) -> bool:
        """Whether a request is for the metadata; ``path``: decoded."""
        return method in ("GET", "HEAD") and path == self.metadata_path

    def check(self, identity: Identity) -> None:
        """Raises `InvalidToken` unless the token is for this resource."""
        if not is_among(self.uri, identity.audience):
            raise InvalidToken

    def headers(self, error: VerificationError, scope: str) -> list[tuple[str, str]]:
        """The headers of a refusal; the challenge names the metadata, and at a 401 ``scope``."""
        more = f', resource_metadata="{self.metadata_url}"'
        if scope and isinstance(error, InvalidToken | MissingToken):
            more = f', scope="{scope}"{more}'
        return [
            (name, f"{value}{more}" if name == "WWW-Authenticate" else value)
            for name, value in error.headers
        ]
