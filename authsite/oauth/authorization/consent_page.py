"""Stand-in."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from authsite.oauth.registered import RegisteredClient
from authsite.platform.http.rendering import page_path
from authsite.request_state import Request
from authsite.users.account import Account

CONSENT = "authsite:templates/authorization/consent.jinja2"


def values(
    request: Request,
    client: RegisteredClient,
    account: Account,
    scopes: Iterable[str],
    redirect_uri: str,
    *,
    acr: str | None = None,
    other_account: str | None = None,
    here: str | None = None,
) -> dict[str, Any]:
    """The values."""
    return {
        **application(request, client, redirect_uri),
        "account": account,
        "other_account": other_account or login_page(request),
        "here": here,
        "scopes": [{"words": each, "data": ()} for each in scopes],
        "others": (),
        "outlasts": False,
        "policy_uri": None,
        "tos_uri": None,
    }


def application(request: Request, client: RegisteredClient, redirect_uri: str) -> dict[str, Any]:
    """The application."""
    return {
        "application": client.name,
        "logo": None,
        "program": False,
        "host": urlsplit(redirect_uri).netloc,
    }


def login_page(request: Request) -> str:
    """The login page."""
    return page_path(request, "login.page", next=request.path_qs)
