"""`Session` for asyncio: the same methods as coroutines, each in a thread.

So tasks share one refresh as threads do, and a task that is cancelled does not interrupt it.
"""

import asyncio
from collections.abc import Mapping

from .session import Session, User
from .tokens import Tokens


class AsyncSession:
    """``AsyncSession(await asyncio.to_thread(client.login, name, password))``."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def tokens(self) -> Tokens:
        """The present pair."""
        return self._session.tokens

    async def access_token(self) -> str:
        """See `Session.access_token`."""
        return await asyncio.to_thread(self._session.access_token)

    async def request(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> object:
        """See `Session.request`."""
        return await asyncio.to_thread(self._session.request, method, path, body)

    async def user(self) -> User:
        """See `Session.user`."""
        return await asyncio.to_thread(self._session.user)

    async def logout(self) -> None:
        """See `Session.logout`."""
        await asyncio.to_thread(self._session.logout)
