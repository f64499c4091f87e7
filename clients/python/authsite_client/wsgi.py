"""Middleware for WSGI applications: Flask, Django, Pyramid, Bottle (PEP 3333)."""

from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING

from .errors import VerificationError
from .paths import Paths
from .requirements import Caller, Requirements
from .verifier import Verifier

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

IDENTITY = "authsite.identity"


class WsgiMiddleware:
    """Lets requests with an active token through; `Identity` is in ``environ[IDENTITY]``.

    ``scope``, ``verified`` and ``caller`` are what every protected path requires of the token, as
    in `Requirements`; ``protect`` and ``exempt`` say which paths are protected, as in `Paths`.
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
    ) -> None:
        self._app = app
        self._verifier = verifier
        self._requirements = Requirements(scope, verified, caller)
        self._paths = Paths(protect, exempt)

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "").encode("latin-1")  # its bytes (PEP 3333)
        if self._paths.protects(path.decode("utf-8", "replace")):
            try:
                identity = self._verifier.verify_header(environ.get("HTTP_AUTHORIZATION"))
                self._requirements.check(identity)
            except VerificationError as error:
                return _respond(error, environ, start_response)
            environ[IDENTITY] = identity
        return self._app(environ, start_response)


def _respond(
    error: VerificationError, environ: "WSGIEnvironment", start_response: "StartResponse"
) -> list[bytes]:
    headers = [*error.headers, ("Content-Length", str(len(error.body)))]
    start_response(f"{error.status} {HTTPStatus(error.status).phrase}", headers)
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [error.body]
