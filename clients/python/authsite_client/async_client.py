"""`Client` for asyncio: what waits for authsite is a coroutine, and runs in a thread."""

import asyncio
from functools import partial

from .async_session import AsyncSession
from .client import Client, Save
from .connections import Service
from .second_steps import Enrollment
from .tokens import Tokens


class AsyncClient:
    """The methods of `Client`; those that send a request are coroutines.

    A task that is cancelled does not interrupt its request. ``save`` is a function, which is called
    in a thread.
    """

    def __init__(self, service: str | Service, client_id: str, client_secret: str) -> None:
        self._client = Client(service, client_id, client_secret)

    async def login(
        self,
        username: str,
        password: str,
        scope: str = "",
        save: Save | None = None,
        *,
        otp: str = "",
    ) -> AsyncSession:
        """See `Client.login`."""
        login = partial(self._client.login, username, password, scope, save, otp=otp)
        return AsyncSession(await asyncio.to_thread(login))

    async def second_step(
        self,
        mfa_token: str,
        method: str,
        code: str = "",
        *,
        credential: str = "",
        enrollment: str = "",
        save: Save | None = None,
    ) -> AsyncSession:
        """See `Client.second_step`."""
        step = partial(self._client.second_step, mfa_token, method, code, save=save)
        proof = {"credential": credential, "enrollment": enrollment}
        return AsyncSession(await asyncio.to_thread(step, **proof))

    async def mail_code(self, mfa_token: str) -> None:
        """See `Client.mail_code`."""
        await asyncio.to_thread(self._client.mail_code, mfa_token)

    async def enroll(self, mfa_token: str) -> Enrollment:
        """See `Client.enroll`."""
        return await asyncio.to_thread(self._client.enroll, mfa_token)

    async def passkey_options(self) -> object:
        """See `Client.passkey_options`."""
        return await asyncio.to_thread(self._client.passkey_options)

    async def login_by_passkey(
        self, credential: str, scope: str = "", save: Save | None = None
    ) -> AsyncSession:
        """See `Client.login_by_passkey`."""
        login = self._client.login_by_passkey
        return AsyncSession(await asyncio.to_thread(login, credential, scope, save))

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
