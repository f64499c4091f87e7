"""The page for ``prompt=select_account``: go on as the signed-in user, or as another one."""

from typing import Any

from authsite.oauth.registered import RegisteredClient
from authsite.platform.request_state import Request
from authsite.users.account import Account

from .consent_page import application, login_page

SELECT_ACCOUNT = "authsite:templates/authorization/select_account.jinja2"


def values(
    request: Request,
    client: RegisteredClient,
    account: Account,
    redirect_uri: str,
    *,
    other_account: str | None = None,
    here: str | None = None,
) -> dict[str, Any]:
    """The values of `SELECT_ACCOUNT`; two of them as in `consent_page.values`."""
    return {
        **application(request, client, redirect_uri),
        "account": account,
        "other_account": other_account or login_page(request),
        "here": here,
    }
