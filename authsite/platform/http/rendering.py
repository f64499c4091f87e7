"""Rendering of pages, and redirects."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from jinja2 import BaseLoader, ChoiceLoader, Environment, FileSystemLoader, PrefixLoader
from markupsafe import Markup
from pyramid.httpexceptions import HTTPFound, HTTPSeeOther
from pyramid.response import Response
from pyramid_jinja2 import SmartAssetSpecLoader

from authsite.platform.addresses import masked, shown
from authsite.platform.i18n import (
    date_words,
    direction,
    localizer,
    moment_words,
    region_name,
    tag,
    time_words,
    translate,
)
from authsite.platform.request_state import Request
from authsite.platform.runtime.catalogs import DOMAIN
from authsite.platform.settings import TEMPLATES

from .address import absolute, route_path
from .headers import SAFE_METHODS
from .languages import choices
from .own_files import asset_path, href

CONTINUE = "authsite:templates/http/continue.jinja2"


@cache  # applications of one process share the compiled templates
def page_templates(folder: str | None, *, reload: bool) -> Environment:
    """The templates; ``folder`` (setting `templates-folder`) has a site's own under our names.

    A template is named ``authsite:templates/layout.jinja2``. ``original/layout.jinja2`` is always
    ours, for a template that extends the one it replaces. ``reload``: notice changed files.
    """
    own: list[BaseLoader] = []
    if folder:
        own.append(PrefixLoader({"authsite:templates": FileSystemLoader(folder)}))
    original = PrefixLoader({"original": FileSystemLoader(TEMPLATES)})
    return Environment(  # nosec  autoescape is on
        loader=ChoiceLoader([*own, original, SmartAssetSpecLoader()]),
        autoescape=True,
        extensions=["jinja2.ext.i18n"],
        auto_reload=reload,
    )


def page_values(request: Request) -> dict[str, Any]:
    """The template values of every page. They need no database, since error pages use them."""
    language = request.authsite.request_info.language
    return {
        **_gettext_callables(language),
        "language": tag(language),
        "direction": direction(language),
        "languages": choices(request),
        "home": home_path(request),
        "url": lambda name, /, **parts: route_path(request, f"authsite.{name}", **parts),
        "page": lambda name: page_path(request, name),
        "static": lambda name: asset_path(request, name),
        "href": lambda place: href(request, place),
        "form": request.authsite.form_data,
        "errors": request.authsite.form_errors,
        "cfg": request.authsite.settings,
        "local": lambda name: request.authsite.settings.localized(name, language),
        "translate": lambda message: translate(message, language),
        "region_name": lambda code: region_name(code, language),
        "shown_address": shown,
        "mask_address": masked,
        "moment_words": lambda moment: moment_words(moment, language),
        "date_words": lambda day: date_words(day, language),
        "time_words": lambda moment: time_words(moment, language),
    }


def render_page(request: Request, template: str, values: Mapping[str, Any]) -> str:
    """The page ``template`` (an asset specification) with ``values``, always escaped."""
    environment = request.registry["authsite.http"].templates
    text: str = environment.get_template(template).render(
        {**page_values(request), "request": request, **values}
    )
    return text


def _gettext_callables(language: str) -> dict[str, Callable[..., str]]:
    """The functions that ``trans`` blocks call."""
    own = localizer(language)

    def filled(text: str, values: Mapping[str, object]) -> str:
        markup = Markup(text)  # noqa: S704  from our own templates and catalogs
        return markup % values if values else markup

    def one(message: str, /, **values: object) -> str:
        return filled(own.translate(message, DOMAIN), values)

    def counted(one: str, many: str, count: int, /, **values: object) -> str:
        return filled(own.pluralize(one, many, count, DOMAIN), values)

    return {"_": one, "gettext": one, "ngettext": counted}


def home_path(request: Request) -> str:
    """The path of the start page; without a route prefix it is the host's own."""
    own = request.authsite.address
    return f"{own.mount}{own.prefix}/"


def page_path(request: Request, name: str, **query: str) -> str:
    """The path of one of our pages, with ``next`` if the request has it."""
    if request.authsite.next:
        query["next"] = request.authsite.next
    return route_path(request, f"authsite.{name}", _query=query)


def go_on(request: Request, location: str, *, reason: str = "signed in") -> Response:
    """Continue at ``location``, a checked path or URL; ``reason``: see `lead_on`.

    After a form, a URL of another origin is reached through a page with status 200: Chromium and
    WebKit apply the policy's ``form-action`` to redirects after a form as well (CSP Level 3).
    """
    if location.startswith("/") or request.method in SAFE_METHODS:
        return see_other(request, location)
    return lead_on(request, location, reason=reason)


def lead_on(request: Request, location: str, *, reason: str = "signed in") -> Response:
    """The page that continues at ``location``, a checked URL of another origin.

    ``reason`` is what happened before: ``signed in``; or ``unsaved`` or ``again`` for a rejected
    form, whose session ended or whose login was too long ago; or ``provider`` on the way to another
    provider; or ``signed out``.
    """
    values = {"location": location, "host": urlsplit(location).netloc, "reason": reason}
    response: Response = request.response
    response.text = render_page(request, CONTINUE, values)
    return response


# With a body, Pyramid does not choose one by the Accept header. Parsing a long one takes
# milliseconds.
_REDIRECT_TEXT: dict[str, Any] = {
    "body": b"Go on to the address in the Location header.\n",
    "content_type": "text/plain",
    "charset": "utf-8",
}


def found(request: Request, location: str) -> HTTPFound:
    """A redirect (302) after a GET request, to return or to raise."""
    return HTTPFound(absolute(request, location), **_REDIRECT_TEXT)


def see_other(request: Request, location: str) -> HTTPSeeOther:
    """A redirect (303) after a form, with the cookies that the view has set."""
    response = HTTPSeeOther(absolute(request, location), **_REDIRECT_TEXT)
    for cookie in request.response.headers.getall("Set-Cookie"):
        response.headers.add("Set-Cookie", cookie)
    return response
