"""`Session` for asyncio: the same methods as coroutines, each in a thread.

So tasks share one refresh as threads do, and a task that is cancelled does not interrupt it.
"""

import asyncio
from collections.abc import Mapping

from .session import Session, User
from .tokens import Tokens


class AsyncSession:
    """What `AsyncClient` returns; ``session`` is the `Session` whose methods run in threads."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def tokens(self) -> Tokens | None:
        """See `Session.tokens`."""
        return self.session.tokens

    @property
    def recovery_codes(self) -> tuple[str, ...]:
        """See `Session`."""
        return self.session.recovery_codes

    async def access_token(self, rejected: str | None = None) -> str:
        """See `Session.access_token`."""
        return await asyncio.to_thread(self.session.access_token, rejected)

    async def request(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> object:
        """See `Session.request`."""
        return await asyncio.to_thread(self.session.request, method, path, body)

    async def user(self) -> User:
        """See `Session.user`."""
        return await asyncio.to_thread(self.session.user)

    async def logout(self) -> None:
        """See `Session.logout`."""
        await asyncio.to_thread(self.session.logout)
