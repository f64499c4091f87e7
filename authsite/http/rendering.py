"""What our own templates find: addresses, static files, the reader's language, who is there."""

from typing import Any

from pyramid.httpexceptions import HTTPSeeOther

from .assets import asset_path


def is_ours(request: Any) -> bool:
    """Whether a page is authsite's; in a host's application its own pages are not touched."""
    if request is None:
        return False
    route = getattr(request, "matched_route", None)
    if route is None:
        return bool(request.registry["authsite.standalone"])
    return bool(route.name.startswith("authsite."))


def choose_language(event: Any) -> None:
    """On every request of ours: translations in the language that the browser asks for."""
    if is_ours(event.request):
        event.request.locale_name = event.request.source.language


def add_globals(event: Any) -> None:
    """Before a template of ours is rendered."""
    request = event.get("request")
    if not is_ours(request):
        return
    event.update(
        home=home_path(request),
        url=lambda name, **parts: request.route_path(f"authsite.{name}", **parts),
        static=lambda name: asset_path(request, name),
        caller=request.caller or request.signed_in,
        form=request.typed,
        errors=request.mistakes,
        cfg=request.cfg,
    )


def home_path(request: Any) -> str:
    """The path of the start page; a host that includes us without a prefix has its own there."""
    return f"{request.script_name}{request.registry['authsite.prefix']}/"


def see_other(request: Any, location: str) -> HTTPSeeOther:
    """On to ``location`` after a form, with the cookies that the view set."""
    response = HTTPSeeOther(location)
    for cookie in request.response.headers.getall("Set-Cookie"):
        response.headers.add("Set-Cookie", cookie)
    return response
