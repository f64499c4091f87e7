"""The types of an ASGI application (asgi.readthedocs.io, the specification)."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

# Any: what a message holds depends on its type, and every framework declares it so.
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
