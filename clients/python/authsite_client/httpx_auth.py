"""Authentication for `httpx <https://www.python-httpx.org>`_: ``auth=HttpxAuth(session)``.

The extra ``httpx`` of this distribution installs it.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator

from httpx import Auth, Request, Response

from .async_session import AsyncSession
from .session import Session, needs_login


class HttpxAuth(Auth):
    """Sends the access token of ``session`` with each request, of `httpx.Client` and `AsyncClient`.

    After a 401 the tokens are renewed, and the request is sent once more; but not if the user has
    to log in again (RFC 9470). So the body of a request is kept in memory until its response has
    arrived. Raises what `Session.access_token` raises.
    """

    requires_request_body = True

    def __init__(self, session: Session | AsyncSession) -> None:
        self._session = session.session if isinstance(session, AsyncSession) else session

    def sync_auth_flow(self, request: Request) -> Generator[Request, Response, None]:
        """Called by `httpx.Client`."""
        request.read()
        token = self._session.access_token()
        response = yield _with(request, token)
        if _rejects(response, token):
            new = self._session.access_token(rejected=token)
            yield _with(response.request, new)

    async def async_auth_flow(self, request: Request) -> AsyncGenerator[Request, Response]:
        """Called by `httpx.AsyncClient`."""
        await request.aread()
        token = await asyncio.to_thread(self._session.access_token)
        response = yield _with(request, token)
        if _rejects(response, token):
            new = await asyncio.to_thread(self._session.access_token, rejected=token)
            yield _with(response.request, new)


def _with(request: Request, token: str) -> Request:
    request.headers["Authorization"] = f"Bearer {token}"
    return request


def _rejects(response: Response, token: str) -> bool:
    """Whether the token was sent and not accepted.

    After a redirect to another host httpx has removed the header, and so it stays.
    """
    return (
        response.status_code == 401
        and response.request.headers.get("Authorization") == f"Bearer {token}"
        and not needs_login(response.headers.get("WWW-Authenticate", ""))
    )
