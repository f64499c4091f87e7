"""What the consent page shows: who asks, for what, what they learn, and where the answer goes.

Each datum is shown with its value, not only the name of its scope.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pyramid.response import Response

from authsite.oauth.clients.redirect_uris import is_program
from authsite.oauth.clients.registered import RegisteredClient
from authsite.oauth.consents.service import words_of
from authsite.oauth.oidc.id_tokens import user_claims
from authsite.platform.http.address import path_qs
from authsite.platform.http.own_files import href
from authsite.platform.http.rendering import page_path, render_page
from authsite.platform.i18n import _, own_name
from authsite.platform.request_state import Request
from authsite.platform.settings import Settings, is_file_name
from authsite.users.account import Account

CONSENT = "authsite:templates/authorization/consent.jinja2"
SIGN_IN, OFFLINE = "openid", "offline_access"
# The data of a scope (OpenID Connect Core, section 5.4), with their words. Claims about a claim,
# such as `email_verified`, are not shown.
DATA: Mapping[str, Mapping[str, str]] = {
    "profile": {
        "name": _("Name"),
        "preferred_username": _("Username"),
        "nickname": _("Nickname"),
        "locale": _("Language"),
    },
    "email": {"email": _("E-mail address")},
    "phone": {"phone_number": _("Phone number")},
    "groups": {"groups": _("Groups")},
}
NOT_SHOWN = frozenset({"updated_at", "email_verified", "phone_number_verified"})


class Datum(NamedTuple):
    """A claim that the application receives: its label, for `translate`, and its value."""

    label: str
    value: str


class ShownScope(NamedTuple):
    """A scope in words, for `translate`, and the data that come with it.

    ``new``: it is asked for besides what the user has allowed before.
    """

    words: str
    data: tuple[Datum, ...]
    new: bool = False


def values(
    request: Request,
    client: RegisteredClient,
    account: Account,
    scopes: Iterable[str],
    redirect_uri: str,
    *,
    added: Collection[str] = (),
    acr: str | None = None,
    resource: str | None = None,
    other_account: str | None = None,
    here: str | None = None,
) -> dict[str, Any]:
    """The values of `CONSENT`; ``scopes`` are those that are going to be granted.

    ``added``: those of them that were not allowed before, where others were. ``acr``: of the
    sign-in, for `user_claims`. ``resource``: the one that the tokens are for. ``other_account``:
    the way to sign in as another user; by default the login page, which leads back to this one.
    ``here``: where the form goes; by default to the address of the page.
    """
    asked = tuple(dict.fromkeys(scopes))
    claims = user_claims(request.authsite.ctx, account, asked, acr)
    if claims.get("nickname") == claims.get("preferred_username"):
        claims.pop("nickname", None)  # the same again
    if "locale" in claims and account.language:
        claims["locale"] = own_name(account.language)
    settings = request.authsite.settings
    shown = [
        ShownScope(
            _words(settings, scope, claims), _data(claims, DATA.get(scope, {})), scope in added
        )
        for scope in (SIGN_IN, *(each for each in asked if each != SIGN_IN))
    ]
    known = NOT_SHOWN.union(*DATA.values())
    others = {name: name for name in claims if name not in known}
    return {
        **application(request, client, redirect_uri),
        "account": account,
        "other_account": other_account or login_page(request),
        "here": here,
        "scopes": shown,
        "shown": " ".join(asked),
        "resource": resource,
        "others": _data(claims, others),
        "outlasts": OFFLINE in asked,
        "policy_uri": client.policy_uri,
        "tos_uri": client.tos_uri,
    }


def _words(settings: Settings, scope: str, claims: Mapping[str, Any]) -> str:
    """The scope in words, which name nothing that the user does not have."""
    if scope == "profile" and "name" not in claims:
        return _("See your username")
    return words_of(settings, scope)


def application(request: Request, client: RegisteredClient, redirect_uri: str) -> dict[str, Any]:
    """The values that tell who asks: name, logo, and the host that gets the answer.

    ``program``: it is a program on the user's computer, which has no host. ``unverified``: no
    administrator has registered it; ``document_host``: the host that describes it, or empty.
    """
    program = is_program(redirect_uri)
    return {
        "application": client.name,
        "logo_href": logo_of(request, client),
        "program": program,
        "host": "" if program else urlsplit(redirect_uri).netloc,
        "unverified": client.unverified,
        "document_host": urlsplit(client.document_uri or "").netloc,
    }


def logo_of(request: Request, client: RegisteredClient) -> str | None:
    """The URL of the application's logo: a file of `static-folder`, while it is there.

    A logo elsewhere would tell its host who signs in, and the policy of our pages does not show it.
    """
    own_files = request.registry["authsite.http"].own_files
    if client.logo is None or not is_file_name(client.logo) or client.logo not in own_files:
        return None
    return href(request, client.logo)


def login_page(request: Request) -> str:
    """The login page, which leads back to the present address."""
    return page_path(request, "login.page", next=path_qs(request))


def _data(claims: Mapping[str, Any], labels: Mapping[str, str]) -> tuple[Datum, ...]:
    return tuple(
        Datum(label, _text(claims[name])) for name, label in labels.items() if claims.get(name)
    )


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)


# The page between a form of ours and an application.


CONTINUE = "authsite:templates/authorization/continue.jinja2"


def lead_to(request: Request, application: str, location: str) -> Response:
    """A page (200) that leads to ``location``, the answer to the application of this name.

    Chromium and WebKit apply the policy's ``form-action`` to each redirect after a form (CSP
    Level 3), so that a redirect to the application would do nothing. A refresh does not count as
    one, and it may lead to a private-use scheme. Where the browser asks first, there is a button.
    """
    values = {
        "application": application,
        "location": location,
        "host": urlsplit(location).netloc,
    }
    response: Response = request.response
    response.text = render_page(request, CONTINUE, values)
    return response
