"""Read a document that describes a client: section 4 of the draft, and RFC 7591, section 2.

Pure functions of plain values. What a document has that this service lacks is ignored: other
grants, other ways to authenticate, logos, redirect URIs that no client may have.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from authsite.oauth import client_urls, redirect_uris, self_described
from authsite.oauth.clients import MAX_NAME
from authsite.oauth.models import MAX_URIS, NATIVE
from authsite.oauth.redirect_uris import NOTHING, Allowed
from authsite.platform.runtime.lines import as_one_line

from .problems import DocumentRefused, Problem

_SECRETS = ("client_secret", "client_secret_expires_at")
_METHODS = ("token_endpoint_auth_methods_supported", "token_endpoint_auth_methods")


class ClientDocument(NamedTuple):
    """What counts of a document. ``scope``: as it stands there, None for none."""

    name: str
    redirect_uris: tuple[str, ...]
    scope: str | None
    client_uri: str | None
    policy_uri: str | None
    tos_uri: str | None


def parse(url: str, body: bytes, allowed: Allowed = NOTHING) -> ClientDocument:
    """The document at ``url``. Raises `DocumentRefused`.

    ``allowed``: what the operator allows besides the rules.
    """
    values = _object(body)
    if values.get("client_id") != url:
        raise _invalid("its client_id is not the URL of the document, letter for letter")
    if any(values.get(name) is not None for name in _SECRETS):
        raise _invalid("it has a client_secret, which everyone can read: leave it out")
    _check_methods(values)
    scope = values.get("scope")
    return ClientDocument(
        _name(url, values.get("client_name")),
        _redirect_uris(values, allowed),
        scope if isinstance(scope, str) else None,
        *_links(values),
    )


def _object(body: bytes) -> dict[str, Any]:
    try:
        values = json.loads(body.decode())
    except (ValueError, RecursionError):
        raise _invalid("it is not JSON in UTF-8") from None
    if not isinstance(values, dict):
        raise _invalid("it is not a JSON object")
    return values


def _check_methods(values: Mapping[str, Any]) -> None:
    """Of the ways to authenticate that are named, one must be ``none``."""
    named = _texts(values.get("token_endpoint_auth_method"))
    for name in _METHODS:
        named |= _texts(values.get(name))
    if named and "none" not in named:
        raise _invalid(
            "its token_endpoint_auth_method is not none: a client of a document authenticates by"
            " its URL alone"
        )


def _texts(value: object) -> set[str]:
    given = value if isinstance(value, list) else [value]
    return {each for each in given if isinstance(each, str)}


def _name(url: str, given: object) -> str:
    """The name in one line; the host if there is none that can be shown."""
    text = (as_one_line(given if isinstance(given, str) else "") or "")[:MAX_NAME].strip()
    return text if self_described.is_name(text) else client_urls.host_of(url)[:MAX_NAME]


def _redirect_uris(values: Mapping[str, Any], allowed: Allowed) -> tuple[str, ...]:
    given = values.get("redirect_uris")
    if not isinstance(given, list):
        raise _invalid("its redirect_uris are not a list")
    if len(given) > MAX_URIS:
        raise _invalid(f"it has more than {MAX_URIS} redirect_uris")
    usable, fault = [], "redirect_uris is an empty list"
    for uri in dict.fromkeys(each for each in given if isinstance(each, str)):
        try:
            redirect_uris.check(uri, NATIVE, allowed)
        except ValueError as error:
            fault = str(error)
        else:
            usable.append(uri)
    if not usable:
        raise _invalid(f"it has no redirect URI that can be used: {fault}")
    return tuple(usable)


def _links(values: Mapping[str, Any]) -> Iterator[str | None]:
    for name in self_described.LINKS:
        given = values.get(name)
        try:
            yield self_described.link(given if isinstance(given, str) else None)
        except ValueError as error:
            raise _invalid(f"{name}: {error}") from None


def _invalid(why: str) -> DocumentRefused:
    return DocumentRefused(Problem.INVALID, why)
