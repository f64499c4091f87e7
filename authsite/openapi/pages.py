"""The page to read the API's description on."""

from pyramid.renderers import render
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.http.kept import answer, keep

from . import marks
from .api import address, described
from .reading import groups

TEMPLATE = "authsite:templates/openapi/docs.jinja2"
MAX_FILTER = 100  # characters


@view_config(route_name="authsite.docs", request_method="GET", permission=NO_PERMISSION_REQUIRED)
def docs(request):
    """The page; ``?q=`` leaves only the endpoints that every word of it occurs in."""
    document = described(request)
    wanted = request.GET.get("q", "").strip()[:MAX_FILTER]
    base = address(request)
    shown = groups(document, base, wanted)
    values = {
        "info": document["info"],
        "base": base,
        "groups": shown,
        "wanted": wanted,
        "count": sum(len(group.entries) for group in shown),
        "prose": marks.prose,
        "in_line": marks.in_line,
        "as_json": marks.as_json,
    }
    text = render(TEMPLATE, values, request=request)
    # Not for shared caches: the examples carry the host that was asked.
    return answer(request, keep(text.encode(), "text/html"), "private, no-cache")
