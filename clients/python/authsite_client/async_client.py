"""`Client` for asyncio: what waits for authsite is a coroutine, and runs in a thread."""

import asyncio

from .async_session import AsyncSession
from .client import Client, Save
from .connections import Service
from .tokens import Tokens


class AsyncClient:
    """The methods of `Client`; those that send a request are coroutines.

    A task that is cancelled does not interrupt its request. ``save`` is a function, which is called
    in a thread.
    """

    def __init__(self, service: str | Service, client_id: str, client_secret: str) -> None:
        self._client = Client(service, client_id, client_secret)

    async def login(
        self, username: str, password: str, scope: str = "", save: Save | None = None
    ) -> AsyncSession:
        """See `Client.login`."""
        login = self._client.login
        return AsyncSession(await asyncio.to_thread(login, username, password, scope, save))

    def login_as_client(self, scope: str = "", save: Save | None = None) -> AsyncSession:
        """See `Client.login_as_client`: nothing is sent, so this is not a coroutine."""
        return AsyncSession(self._client.login_as_client(scope, save))

    def resume(self, tokens: Tokens, save: Save | None = None) -> AsyncSession:
        """See `Client.resume`."""
        return AsyncSession(self._client.resume(tokens, save))

    async def refresh(self, refresh_token: str) -> Tokens:
        """See `Client.refresh`."""
        return await asyncio.to_thread(self._client.refresh, refresh_token)

    async def revoke(self, token: str) -> None:
        """See `Client.revoke`."""
        await asyncio.to_thread(self._client.revoke, token)

    def close(self) -> None:
        """See `Client.close`."""
        self._client.close()
