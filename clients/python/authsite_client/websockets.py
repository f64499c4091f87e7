"""The access token of a WebSocket that a browser opens: the subprotocol ``authsite.bearer.…``.

A browser cannot send an Authorization header with a WebSocket, and a token in the URL would be in
logs and in the history. The names of subprotocols (RFC 6455, section 1.9) are what a script can
choose.
"""

from .asgi_types import Message, Scope, Send
from .bearer import has_bearer
from .errors import InvalidToken

PREFIX = "authsite.bearer."
_HEADER = b"sec-websocket-protocol"


def offered(scope: Scope) -> list[str]:
    """The subprotocols with a token that the browser offers."""
    return [each for each in scope.get("subprotocols", ()) if each.startswith(PREFIX)]


def authorization(header: str | None, protocols: list[str]) -> str | None:
    """The Authorization header, or what it would be with the token of a subprotocol.

    Raises `InvalidToken` if there are two tokens (RFC 6750, section 2).
    """
    if not protocols:
        return header
    if len(protocols) > 1 or has_bearer(header):
        raise InvalidToken
    return f"Bearer {protocols[0].removeprefix(PREFIX)}"


def without_tokens(scope: Scope) -> Scope:
    """``scope`` as the application sees it: no token among the subprotocols and headers."""
    protocols = [each for each in scope["subprotocols"] if not each.startswith(PREFIX)]
    headers = [each for each in scope["headers"] if each[0] != _HEADER]
    if protocols:
        headers.append((_HEADER, ", ".join(protocols).encode("latin-1")))
    return {**scope, "subprotocols": protocols, "headers": headers}


def answering(protocol: str, send: Send) -> Send:
    """``send`` that accepts with ``protocol`` if the application accepts with none.

    A browser closes a connection whose response names none of the subprotocols that it offered.
    """

    async def answer(message: Message) -> None:
        if message["type"] == "websocket.accept" and message.get("subprotocol") is None:
            message = {**message, "subprotocol": protocol}
        await send(message)

    return answer
