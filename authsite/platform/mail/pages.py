"""`/dev/mail`: the mails of the drivers ``log`` and ``file``, for development."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.platform.http.errors import NotFound
from authsite.platform.request_state import Request
from authsite.platform.settings import Settings
from authsite.platform.settings.urls import host_name, host_of, is_loopback

# Copies of the mails for `/dev/mail`, the page that shows them during development.
#
# The links in mails are made when they are sent, by one of several processes. So the page shows
# what was sent, from a folder that the workers share: with the driver ``log`` a temporary folder,
# which ``authsite serve`` makes and removes at its end; with ``file`` the ``mail-folder``.


FOLDER_VARIABLE = "AUTHSITE_MAIL_COPIES"
SHOWN = 50  # mails
_PATTERN = "*.eml"


@dataclass(frozen=True, slots=True)
class Copy:
    """One mail; ``html`` is None if it has no such part."""

    name: str
    subject: str
    recipient: str
    date: str
    text: str
    html: str | None


def may_show(cfg: Settings, host: str) -> bool:
    """Whether there may be a page with all mails, if the server listens on ``host``.

    Only during development on one's own machine: with the page, everyone who reaches it opens every
    account.
    """
    try:
        local = is_loopback(host_name(host)) and all(is_loopback(host_of(u)) for u in cfg.base_url)
    except ValueError:
        local = False
    return local and not cfg.production and cfg.mail_driver in ("log", "file")


@contextmanager
def shared_folder(cfg: Settings, host: str) -> Iterator[None]:
    """Name the folder to the workers that are started in the block, if `may_show`."""
    os.environ.pop(FOLDER_VARIABLE, None)
    if not may_show(cfg, host):
        yield
    elif cfg.mail_driver == "file":
        os.environ[FOLDER_VARIABLE] = str(Path(cfg.mail_folder).absolute())
        yield
    else:
        made = tempfile.mkdtemp(prefix="authsite-mail-")  # only its owner can read it
        os.environ[FOLDER_VARIABLE] = made
        try:
            yield
        finally:
            shutil.rmtree(made, ignore_errors=True)


def prune(folder: Path) -> None:
    """Delete all but the latest mails."""
    for path in sorted(folder.glob(_PATTERN))[:-SHOWN]:
        path.unlink(missing_ok=True)


def latest(folder: Path) -> list[Copy]:
    """The latest mails, the newest first."""
    paths = sorted(folder.glob(_PATTERN), reverse=True)[:SHOWN]
    return [copy for path in paths if (copy := _read(path))]


def find(folder: Path, name: str) -> Copy | None:
    """The mail with this name, which need not be one of a file."""
    return next((copy for copy in latest(folder) if copy.name == name), None)


def _read(path: Path) -> Copy | None:
    try:
        content = path.read_bytes()
    except FileNotFoundError:  # another process has deleted it
        return None
    message = message_from_bytes(content, policy=policy.default)
    return Copy(
        name=path.stem,
        subject=str(message["Subject"] or ""),
        recipient=str(message["To"] or ""),
        date=str(message["Date"] or ""),
        text=_part(message, "plain") or "",
        html=_part(message, "html"),
    )


def _part(message: EmailMessage, subtype: str) -> str | None:
    part = message.get_body((subtype,))
    return None if part is None else str(part.get_content())


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
    return {"mails": latest(_folder(request)), "linked": linked}


@view_config(
    route_name="authsite.dev.mail.html",
    request_method="GET",
    permission=NO_PERMISSION_REQUIRED,
)
def show_html(request: Request) -> Response:
    """The HTML part of one mail, as a separate page."""
    mail = find(_folder(request), request.matchdict["mail"])
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
