"""The web guard: a session cookie opens pages; a stranger is led to the login page."""

from typing import Any
from urllib.parse import quote, urlsplit

from pyramid.httpexceptions import HTTPFound
from pyramid.interfaces import IRoutesMapper

from authsite import clock
from authsite.login import sessions

from .caller import Caller
from .cookies import session_key
from .errors import NotSignedIn


def web_guard(request: Any) -> Caller:
    """The user who is signed in with this browser.

    Raises a redirect to the login page, or `NotSignedIn` for a request that asks for JSON.
    """
    caller = signed_in(request)
    if caller is not None:
        return caller
    accept = request.headers.get("Accept", "")
    if "application/json" in accept and "text/html" not in accept:
        request.speaks = "house"
        raise NotSignedIn
    raise HTTPFound(login_url(request, request.path_qs))


def signed_in(request: Any) -> Caller | None:
    """The user who is signed in with this browser, or None; for pages that are open to all."""
    key = session_key(request)
    uses = request.registry["authsite.uses"]
    found = key and sessions.find_live(request.database, uses, key, clock.now())
    if not found:
        return None
    session_id, account = found
    return Caller(guard="web", user=account, scope=frozenset(), session_id=session_id)


def login_url(request: Any, back_to: str | None = None) -> str:
    """The address of the login page: what `login-page-url` names, with ``next``.

    A relative name is a route of that name (the host's, or ours), or else the path of the view
    of that name; a path or an absolute URL is taken as it is.
    """
    target = _target(request, request.cfg.login_page_url)
    if not back_to:
        return target
    return f"{target}{'&' if urlsplit(target).query else '?'}next={quote(back_to, safe='/')}"


def _target(request: Any, name: str) -> str:
    if name.startswith("/") or "://" in name:
        return name
    mapper = request.registry.getUtility(IRoutesMapper)
    for route in (name, f"authsite.{name}.page"):
        if mapper.get_route(route) is not None:
            return str(request.route_path(route))
    return f"{request.script_name}/{name}"
