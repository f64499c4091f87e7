"""The security policy of the stand-alone application."""

from pyramid.security import Allowed, Denied

from authsite.platform.request_state import Request
from authsite.users.caller import Caller


class DefaultDenyPolicy:
    """The stand-alone security policy: a view is open only if it, or its route's guard, says so."""

    def identity(self, request: Request) -> Caller | None:
        caller: Caller | None = request.authsite.caller
        return caller

    def authenticated_userid(self, request: Request) -> str | None:
        caller = request.authsite.caller
        return str(caller.account.id) if caller and caller.account else None

    def permits(self, request: Request, context: object, permission: str) -> Allowed | Denied:
        if request.authsite.caller is not None:
            return Allowed("the route's guard let the caller in")
        return Denied("the route has no guard, and the view does not say that it is open")

    def remember(self, request: Request, userid: str, **kw: object) -> list[tuple[str, str]]:
        return []

    def forget(self, request: Request, **kw: object) -> list[tuple[str, str]]:
        return []
