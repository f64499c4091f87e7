"""Make a client of a document, and keep it as the document says."""

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from authsite.oauth.clients import document_urls, redirect_uris, self_described, uris
from authsite.oauth.clients.redirect_uris import NOTHING, Allowed
from authsite.oauth.clients.service import MAX_NAME
from authsite.oauth.models import DOCUMENT, MAX_URIS, NATIVE, REDIRECT, Client
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context, Services
from authsite.platform.db import PreparedQuery
from authsite.platform.db.prepared import columns_of
from authsite.platform.http import outbound
from authsite.platform.http.outbound import UNTRUSTED, Answer, NoSlot, Unreachable
from authsite.platform.runtime import clock
from authsite.platform.runtime.lines import as_one_line

# Why a document gives no client.


class Problem(Enum):
    """What kind of fault it is."""

    UNREACHABLE = "there is no answer that can be used"
    INVALID = "the document does not describe a client of this URL"
    BUSY = "the document may not be fetched at the moment"


class DocumentRefused(Exception):
    """A document that gives no client. ``why`` is for operators, not for persons."""

    def __init__(self, problem: Problem, why: str) -> None:
        super().__init__(why)
        self.problem, self.why = problem, why


# Read a document that describes a client: section 4 of the draft, and RFC 7591, section 2.
#
# Pure functions of plain values. What a document has that this service lacks is ignored: other
# grants, other ways to authenticate, logos, redirect URIs that no client may have.


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
    return text if self_described.is_name(text) else document_urls.host_of(url)[:MAX_NAME]


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


# Fetch a document from the host that a stranger has named.
#
# The request goes to public addresses alone, follows no redirect, and ends after five seconds
# (`outbound`).


LIMIT = 5 * 1024  # bytes (section 6.6 of the draft)
SHORTEST, LONGEST = timedelta(minutes=5), timedelta(hours=24)
_JSON = re.compile(r"application/(?:json|[a-z0-9.+-]+\+json)")
_MAX_AGE = re.compile(r"max-age=\"?([0-9]{1,16})\"?")


class Fetched(NamedTuple):
    """The body of a document, and how long it counts."""

    body: bytes
    lifetime: timedelta


def fetch(services: Services, url: str) -> Fetched:
    """The document at a URL that `document_urls.check` accepts. Raises `DocumentRefused`.

    Call it outside of a transaction: it may take five seconds.
    """
    try:
        answer = outbound.send(
            services,
            UNTRUSTED,
            "GET",
            url,
            headers={"Accept": "application/json"},
            limit=LIMIT,
            public_only=True,
        )
    except NoSlot:
        raise DocumentRefused(Problem.BUSY, Problem.BUSY.value) from None
    except Unreachable as error:
        raise DocumentRefused(Problem.UNREACHABLE, error.reason) from None
    _check(answer)
    return Fetched(answer.body, lifetime_of(answer.headers))


def _check(answer: Answer) -> None:
    if 300 <= answer.status < 400:
        raise DocumentRefused(
            Problem.UNREACHABLE,
            f"the host answered with a redirect (status {answer.status}), which is not followed",
        )
    if answer.status != 200:
        raise DocumentRefused(
            Problem.UNREACHABLE, f"the host answered with the status {answer.status}, not 200"
        )
    media_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not _JSON.fullmatch(media_type):
        raise DocumentRefused(
            Problem.INVALID, f"its Content-Type is not application/json: {media_type[:100]!r}"
        )


def lifetime_of(headers: Mapping[str, str]) -> timedelta:
    """How long a document counts, by ``Cache-Control`` (RFC 9111), from 5 minutes to 24 hours."""
    directives = [each.strip() for each in headers.get("cache-control", "").lower().split(",")]
    if not {"no-store", "no-cache"}.isdisjoint(directives):
        return SHORTEST
    found = next(filter(None, map(_MAX_AGE.fullmatch, directives)), None)
    if found is None:
        return SHORTEST
    seconds = min(int(found[1]), int(LONGEST.total_seconds()))
    return max(timedelta(seconds=seconds), SHORTEST)


ADDRESS = "document-address"  # a limit


class StoredDocument(NamedTuple):
    """The client of a document that was fetched before."""

    id: UUID
    disabled_at: datetime | None
    document_expires_at: datetime | None


STORED_DOCUMENT = PreparedQuery(
    select(*columns_of(Client, StoredDocument)).where(Client.document_uri == bindparam("url")),
    StoredDocument,
)


def is_current(ctx: Context, url: str) -> bool:
    """Whether what was fetched before still counts, or the client is disabled: then it is kept."""
    stored, now = STORED_DOCUMENT.one(ctx.database, url=url), clock.now()
    if stored is None:
        return False
    expires = stored.document_expires_at
    return stored.disabled_at is not None or (expires is not None and expires > now)


def bring_up_to_date(ctx: Context, url: str, *, only_stored: bool = False) -> None:
    """Fetch the document at ``url`` unless what was fetched before still counts, and store it.

    For a signed-in user alone, with a URL that `document_urls.usable` accepts. It has a separate
    transaction, which is committed on return; call it outside of another one. The document of a
    client that was disabled here is not fetched. Raises `DocumentRefused` and `TooManyAttempts`.
    Then nothing has changed: earlier tokens go on. ``only_stored``: nothing is fetched, and a
    document that would have to be is refused as `Problem.BUSY`.
    """
    if is_current(ctx, url):
        return
    if only_stored:
        raise DocumentRefused(Problem.BUSY, "the request is no navigation of a browser")
    ctx.limits.count(ADDRESS, ctx.limits.address)
    fetched = fetch(ctx.services, url)
    document = parse(url, fetched.body, redirect_uris.allowed_by(ctx.settings))
    if self_described.is_site(ctx.settings, document.name):
        document = document._replace(name=document_urls.host_of(url)[:MAX_NAME])
    _store(ctx, url, document, clock.now() + fetched.lifetime)


def _store(ctx: Context, url: str, document: ClientDocument, expires: datetime) -> None:
    """A row for each URL, whatever other requests do at the same time."""
    if _update(ctx, url, document, expires):
        return
    try:
        _insert(ctx, url, document, expires)
    except IntegrityError:  # another request has inserted it at this moment
        _update(ctx, url, document, expires)


def _insert(ctx: Context, url: str, document: ClientDocument, expires: datetime) -> None:
    now = clock.now()
    with Session(ctx.database.transactional) as db, db.begin():
        own = Context(ctx.services, lambda: ctx.request_info, lambda: db)
        client = Client(
            id=uuid.uuid4(),
            type=DOCUMENT,
            secret_hash="",
            default_scope="",
            epoch=0,
            created_at=now,
            document_uri=url,
        )
        _fill(own, client, document, expires)
        db.add(client)
        _set_uris(own, client, document)
        details = {
            "name": client.name,
            "redirect_uris": " ".join(document.redirect_uris),
            "document": url,
        }
        record(own, Event.CLIENT_REGISTERED, client_id=client.id, details=details)


def _update(ctx: Context, url: str, document: ClientDocument, expires: datetime) -> bool:
    """Whether there is such a client; the rows of its URIs change only if the document has."""
    with Session(ctx.database.transactional) as db, db.begin():
        own = Context(ctx.services, lambda: ctx.request_info, lambda: db)
        locked = select(Client).where(Client.document_uri == url).with_for_update(key_share=True)
        client = db.scalars(locked).one_or_none()
        if client is None:
            return False
        _fill(own, client, document, expires)
        present = uris.of(db, [client.id]).get((client.id, REDIRECT), [])
        if tuple(present) != document.redirect_uris:
            _set_uris(own, client, document)
        return True


def _fill(ctx: Context, client: Client, document: ClientDocument, expires: datetime) -> None:
    client.name = document.name
    client.scope = self_described.scope_of(ctx.settings, document.scope)
    client.client_uri = document.client_uri
    client.policy_uri, client.tos_uri = document.policy_uri, document.tos_uri
    client.document_expires_at, client.updated_at = expires, clock.now()


def _set_uris(ctx: Context, client: Client, document: ClientDocument) -> None:
    allowed = redirect_uris.allowed_by(ctx.settings)
    uris.replace(ctx.db, client, REDIRECT, document.redirect_uris, allowed)
