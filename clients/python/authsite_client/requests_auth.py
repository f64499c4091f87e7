"""Authentication for `requests <https://requests.readthedocs.io>`_: ``auth=RequestsAuth(session)``.

The extra ``requests`` of this distribution installs it.
"""

from typing import Any

from requests import PreparedRequest, Response
from requests.auth import AuthBase

from .session import Session, needs_login


class RequestsAuth(AuthBase):
    """Sends the access token of ``session`` with each request.

    After a 401 the tokens are renewed, and the request is sent once more; a body that is a stream
    and cannot be read again is not. Nothing is renewed if the user has to log in again (RFC 9470).
    Raises what `Session.access_token` raises.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Called by requests, for each request that it prepares."""
        token = self._session.access_token()
        request.headers["Authorization"] = f"Bearer {token}"
        start = _position(request.body)

        def renew(response: Response, **options: Any) -> Response:
            return self._renewed(response, token, start, options)

        request.register_hook("response", renew)
        return request

    # Any: the options of the connection, which are handed back as they are.
    def _renewed(
        self, response: Response, token: str, start: int | None, options: dict[str, Any]
    ) -> Response:
        request = response.request
        # After a redirect to another host requests has removed the header, and so it stays.
        if response.status_code != 401 or request.headers.get("Authorization") != f"Bearer {token}":
            return response
        if needs_login(response.headers.get("WWW-Authenticate", "")):
            return response
        new = self._session.access_token(rejected=token)
        if start is None:
            return response
        again = request.copy()
        again.headers["Authorization"] = f"Bearer {new}"
        if start >= 0:
            body: Any = again.body
            body.seek(start)
        _ = response.content  # reads the rest, so that the connection can be used again
        response.close()
        answer: Response = response.connection.send(again, **options)
        answer.history.append(response)
        answer.request = again
        return answer


def _position(body: Any) -> int | None:
    """Where a file begins to be sent; -1 for a body in memory, None for what is sent once."""
    if body is None or isinstance(body, (bytes, str)):
        return -1
    try:
        position: int = body.tell()
        body.seek(position)
    except (AttributeError, OSError):
        return None
    return position
