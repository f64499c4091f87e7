"""Middleware for ASGI applications: FastAPI, Starlette, Litestar, Django (ASGI 3)."""

from collections.abc import Iterable, Sequence

from . import websockets
from .asgi_types import App, Receive, Scope, Send
from .errors import VerificationError
from .paths import Paths
from .protected_resource import HEADERS, ProtectedResource
from .requirements import Caller, Requirements
from .verifier import Verifier
from .wsgi import IDENTITY


class AsgiMiddleware:
    """Lets requests with an active token through; `Identity` is in ``scope[IDENTITY]``.

    It protects HTTP and WebSockets. The parameters are those of `WsgiMiddleware`. Paths are
    relative to ``root_path``. With ``websocket_protocol`` the token of a WebSocket may also be in
    the subprotocol ``authsite.bearer.<token>``, which the application does not see; the response
    names it if the application accepts without its own subprotocol.
    """

    def __init__(
        self,
        app: App,
        verifier: Verifier,
        scope: str = "",
        protect: Sequence[str] = ("/",),
        exempt: Sequence[str] = (),
        *,
        verified: bool = False,
        caller: Caller = "user",
        websocket_protocol: bool = False,
        resource: ProtectedResource | None = None,
    ) -> None:
        self._app = app
        self._verifier = verifier
        self._requirements = Requirements(scope, verified, caller, resource)
        self._paths = Paths(protect, exempt)
        self._websocket_protocol = websocket_protocol
        self._resource = resource

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        protocols: list[str] = []
        if self._websocket_protocol and scope["type"] == "websocket":
            protocols = websockets.offered(scope)
        resource = self._resource
        if resource and resource.serves(scope.get("method", ""), scope.get("path", "")):
            await _respond(200, HEADERS, resource.metadata, scope, send)
            return
        if scope["type"] != "lifespan" and self._paths.protects(_path(scope)):
            try:
                header = websockets.authorization(_authorization(scope), protocols)
                identity = await self._verifier.verify_header_async(header, resource=resource)
                self._requirements.check(identity)
            except VerificationError as error:
                needed = self._requirements.scope
                headers = resource.headers(error, needed) if resource else error.headers
                await _respond(error.status, headers, error.body, scope, send)
                return
            scope[IDENTITY] = identity
        if protocols:
            scope = websockets.without_tokens(scope)
            send = websockets.answering(protocols[0], send)
        await self._app(scope, receive, send)


def _path(scope: Scope) -> str:
    path: str = scope["path"]
    root: str = scope.get("root_path", "").rstrip("/")
    if not root:
        return path
    return path.removeprefix(root) if f"{path}/".startswith(f"{root}/") else path


def _authorization(scope: Scope) -> str | None:
    """The header, as a WSGI server gives it: several are joined by commas."""
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]  # their names are in lower case
    found = [value for name, value in headers if name == b"authorization"]
    return b",".join(found).decode("latin-1") if found else None


async def _respond(
    status: int, headers: Iterable[tuple[str, str]], body: bytes, scope: Scope, send: Send
) -> None:
    kind = "http"
    if scope["type"] == "websocket":
        if "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008})  # the server answers 403
            return
        kind = "websocket.http"
    pairs = [*headers, ("Content-Length", str(len(body)))]
    encoded = [(name.lower().encode(), value.encode("latin-1")) for name, value in pairs]
    await send({"type": f"{kind}.response.start", "status": status, "headers": encoded})
    # The server leaves the body out of a response to HEAD.
    await send({"type": f"{kind}.response.body", "body": body})
