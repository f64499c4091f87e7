"""What our own templates find: addresses, static files, the reader's language."""

import gettext
from collections.abc import Callable
from typing import Any

from markupsafe import Markup
from pyramid.httpexceptions import HTTPSeeOther

from authsite.i18n import translations
from authsite.texts import say

from .assets import asset_path


def add_globals(event: Any) -> None:
    """Before a template of ours is rendered. Nothing here asks the database: errors use it."""
    request = event.get("request")
    # By template: an error page of ours is also shown on a guarded route of a host.
    if request is None or not (event.get("renderer_name") or "").startswith("authsite:"):
        return
    catalogue = translations(request.source.language)
    event.update(
        _words(catalogue),
        home=home_path(request),
        url=lambda name, **parts: request.route_path(f"authsite.{name}", **parts),
        static=lambda name: asset_path(request, name),
        form=request.typed,
        errors=request.mistakes,
        cfg=request.cfg,
        say=lambda words: say(catalogue, words),
    )


def _words(catalogue: gettext.NullTranslations) -> dict[str, Callable[..., str]]:
    """What ``trans`` blocks call, whichever style of gettext a host has chosen for Jinja."""

    def one(message: str, /, **values: Any) -> str:
        words = Markup(catalogue.gettext(message))  # noqa: S704  our own templates and catalogues
        return words % values if values else words

    def counted(one: str, many: str, count: int, /, **values: Any) -> str:
        words = Markup(catalogue.ngettext(one, many, count))  # noqa: S704  as above
        return words % values if values else words

    return {"_": one, "gettext": one, "ngettext": counted}


def home_path(request: Any) -> str:
    """The path of the start page; a host that includes us without a prefix has its own there."""
    return f"{request.script_name}{request.registry['authsite.prefix']}/"


def see_other(request: Any, location: str) -> HTTPSeeOther:
    """On to ``location`` after a form, with the cookies that the view set."""
    response = HTTPSeeOther(location)
    for cookie in request.response.headers.getall("Set-Cookie"):
        response.headers.add("Set-Cookie", cookie)
    return response
