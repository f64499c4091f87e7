"""`/dev/mail`: the mails of the drivers ``log`` and ``file``, for development."""

import re
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.platform.http.errors import NotFound
from authsite.platform.request_state import Request

from . import copies

# The part has its own styles. It runs no script and sends no form, and it is not of our origin.
_HTML_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data: https: http:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "sandbox allow-top-navigation-by-user-activation allow-popups allow-popups-to-escape-sandbox"
)
_LINK = re.compile(r"https?://[^\s<>\"]+")


@view_config(
    route_name="authsite.dev.mail",
    request_method="GET",
    renderer="authsite:templates/dev/mail.jinja2",
    permission=NO_PERMISSION_REQUIRED,
)
def show(request: Request) -> dict[str, Any]:
    """The latest mails, the newest first; their links can be followed."""
    return {"mails": copies.latest(_folder(request)), "linked": linked}


@view_config(
    route_name="authsite.dev.mail.html",
    request_method="GET",
    permission=NO_PERMISSION_REQUIRED,
)
def show_html(request: Request) -> Response:
    """The HTML part of one mail, as a separate page."""
    mail = copies.find(_folder(request), request.matchdict["mail"])
    if mail is None or mail.html is None:
        raise NotFound
    response = Response(mail.html, content_type="text/html", charset="utf-8")
    response.headers["Content-Security-Policy"] = _HTML_POLICY
    return response


def linked(text: str) -> Markup:
    """``text``, escaped, with its URLs as links."""
    made, end = Markup(), 0
    for found in _LINK.finditer(text):
        url = escape(found[0])
        made += escape(text[end : found.start()]) + Markup('<a href="{0}">{0}</a>').format(url)
        end = found.end()
    return made + escape(text[end:])


def _folder(request: Request) -> Path:
    folder: Path | None = request.authsite.services.mail_copies
    if folder is None:
        raise NotFound
    return folder
