"""Middleware for WSGI applications: Flask, Django, Pyramid, Bottle (PEP 3333)."""

from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING

from .errors import VerificationError
from .paths import Paths
from .protected_resource import HEADERS, ProtectedResource
from .requirements import Caller, Requirements
from .verifier import Verifier

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

IDENTITY = "authsite.identity"


class WsgiMiddleware:
    """Lets requests with an active token through; `Identity` is in ``environ[IDENTITY]``.

    ``scope``, ``verified`` and ``caller`` are what every protected path requires of the token, as
    in `Requirements`; ``protect`` and ``exempt`` say which paths are protected, as in `Paths`. With
    a ``resource`` the tokens must be for it, and its metadata is served to everyone. Without a
    ``scope`` applications of third parties do not pass, unless the ``resource`` has no scopes.
    """

    def __init__(
        self,
        app: "WSGIApplication",
        verifier: Verifier,
        scope: str = "",
        protect: Sequence[str] = ("/",),
        exempt: Sequence[str] = (),
        *,
        verified: bool = False,
        caller: Caller = "user",
        resource: ProtectedResource | None = None,
    ) -> None:
        self._app = app
        self._verifier = verifier
        self._requirements = Requirements(scope, verified, caller, resource)
        self._paths = Paths(protect, exempt)
        self._resource = resource

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        raw = environ.get("PATH_INFO", "").encode("latin-1")  # its bytes (PEP 3333)
        path, resource = raw.decode("utf-8", "replace"), self._resource
        if resource and resource.serves(environ["REQUEST_METHOD"], path):
            return _respond(200, HEADERS, resource.metadata, environ, start_response)
        if self._paths.protects(path):
            try:
                identity = self._verifier.verify_header(
                    environ.get("HTTP_AUTHORIZATION"), resource=resource
                )
                self._requirements.check(identity)
            except VerificationError as error:
                scope = self._requirements.scope
                headers = resource.headers(error, scope) if resource else error.headers
                return _respond(error.status, headers, error.body, environ, start_response)
            environ[IDENTITY] = identity
        return self._app(environ, start_response)


def _respond(
    status: int,
    headers: Iterable[tuple[str, str]],
    body: bytes,
    environ: "WSGIEnvironment",
    start_response: "StartResponse",
) -> list[bytes]:
    start_response(
        f"{status} {HTTPStatus(status).phrase}", [*headers, ("Content-Length", str(len(body)))]
    )
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]
