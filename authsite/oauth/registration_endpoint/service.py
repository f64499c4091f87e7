"""Register a client that says what it is (RFC 7591, section 3)."""

import uuid
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from authsite.oauth.clients import redirect_uris, self_described, unused
from authsite.oauth.clients import uris as client_uris
from authsite.oauth.clients.authentication import hash_secret
from authsite.oauth.clients.redirect_uris import Allowed
from authsite.oauth.clients.service import MAX_NAME, new_secret
from authsite.oauth.models import (
    DYNAMIC,
    MAX_URIS,
    NATIVE,
    REDIRECT,
    SERVER,
    Client,
    grant_types_of,
)
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.denied_requests.reason import DenialReason, Texts
from authsite.platform.http.errors import ApiError
from authsite.platform.runtime import clock
from authsite.platform.runtime.lines import NotOneLine, one_line
from authsite.platform.settings import Settings

from .bodies import ClientMetadata, RegisteredClientAnswer
from .errors import InvalidClientMetadata, InvalidRedirectUri

# Why a client cannot register itself (RFC 7591, section 3.2.2).


METADATA = "invalid_client_metadata"
CHANGE = "${parameter}: ${expected}"
PERSON = "The application could not register itself. Tell the people who run the application."


class RegistrationReason(DenialReason):
    """Why `/v1/oauth/register` registers nothing. What is wrong with a value is in `expected`."""

    APPLICATION_TYPE = Texts(
        "application_type",
        METADATA,
        "The `application_type` is neither `web` nor `native`.",
        PERSON,
        CHANGE,
    )
    AUTH_METHOD = Texts(
        "auth_method",
        METADATA,
        "The `token_endpoint_auth_method` is none that we have. `private_key_jwt` is not one.",
        PERSON,
        CHANGE,
    )
    LINK = Texts(
        "link",
        METADATA,
        "A link of the client, such as `policy_uri`, cannot be shown to users.",
        PERSON,
        CHANGE,
    )
    NAME = Texts(
        "name",
        METADATA,
        "The `client_name` is none that users can be shown.",
        PERSON,
        CHANGE,
    )
    REDIRECT_URI = Texts(
        "redirect_uri",
        "invalid_redirect_uri",
        "One of the `redirect_uris` is none that such a client may have, or there is none.",
        PERSON,
        CHANGE,
    )
    UNSUPPORTED = Texts(
        "unsupported",
        METADATA,
        "The `grant_types` or `response_types` lack the one that self-registered clients have.",
        PERSON,
        CHANGE,
    )


# What of the metadata of a client can be registered (RFC 7591, section 2).


AuthMethod = Literal["none", "client_secret_basic", "client_secret_post"]
ApplicationType = Literal["web", "native"]
METHODS: tuple[AuthMethod, ...] = ("none", "client_secret_basic", "client_secret_post")
TYPES: dict[ApplicationType, str] = {"web": SERVER, "native": NATIVE}
CODE_GRANT = "authorization_code"


class Metadata(NamedTuple):
    """Values that can be registered; ``scope``: those that the client may have."""

    redirect_uris: list[str]
    application_type: ApplicationType
    auth_method: AuthMethod
    name: str
    scope: str
    client_uri: str | None
    policy_uri: str | None
    tos_uri: str | None


def read(settings: Settings, sent: ClientMetadata) -> Metadata:
    """The values of a registration. Raises `InvalidRedirectUri` and `InvalidClientMetadata`."""
    application_type = _application_type(sent)
    allowed = redirect_uris.allowed_by(settings)._replace(http_hosts=None)
    uris = _redirect_uris(sent, TYPES[application_type], allowed)
    _require(CODE_GRANT, sent.grant_types, "grant_types")
    _require("code", sent.response_types, "response_types")
    return Metadata(
        uris,
        application_type,
        _auth_method(sent.token_endpoint_auth_method),
        _name(settings, sent.client_name) or _host(uris[0]),
        self_described.scope_of(settings, sent.scope),
        *(_link(name, getattr(sent, name)) for name in self_described.LINKS),
    )


def _application_type(sent: ClientMetadata) -> ApplicationType:
    if sent.application_type is None:
        programs = map(redirect_uris.is_program, sent.redirect_uris)
        return "native" if any(programs) else "web"
    for each in TYPES:
        if each == sent.application_type:
            return each
    raise InvalidClientMetadata().because(
        RegistrationReason.APPLICATION_TYPE,
        parameter="application_type",
        sent=sent.application_type,
        expected=f"give {' or '.join(TYPES)}, or leave it out.",
    )


def _redirect_uris(sent: ClientMetadata, client_type: str, allowed: Allowed) -> list[str]:
    uris = list(dict.fromkeys(sent.redirect_uris))
    if not uris or len(uris) > MAX_URIS:
        number = str(len(uris))
        raise _invalid_uri(number, f"give 1 to {MAX_URIS} URIs.")
    for uri in uris:
        try:
            redirect_uris.check(uri, client_type, allowed)
        except ValueError as error:
            raise _invalid_uri(uri, str(error)) from None
    return uris


def _invalid_uri(sent: str, expected: str) -> ApiError:
    return InvalidRedirectUri().because(
        RegistrationReason.REDIRECT_URI, parameter="redirect_uris", sent=sent, expected=expected
    )


def _require(name: str, given: list[str] | None, field: str) -> None:
    if given is not None and name not in given:
        raise InvalidClientMetadata().because(
            RegistrationReason.UNSUPPORTED,
            parameter=field,
            sent=" ".join(given),
            expected=f"there is only {name} here. Name it, too.",
        )


def _auth_method(given: str | None) -> AuthMethod:
    """By default the client gets a secret (section 2)."""
    for each in METHODS:
        if each == (given or "client_secret_basic"):
            return each
    raise InvalidClientMetadata().because(
        RegistrationReason.AUTH_METHOD,
        parameter="token_endpoint_auth_method",
        sent=given or "",
        expected=f"give one of {', '.join(METHODS)}.",
    )


def _name(settings: Settings, given: str | None) -> str:
    try:
        name = one_line(given) or ""
    except NotOneLine as error:
        raise _invalid_name(given or "", f"{error}.") from None
    if not self_described.is_name(name) and (given or "").strip():
        raise _invalid_name(given or "", f"give one line of at most {MAX_NAME} characters.")
    if self_described.is_site(settings, name):
        raise _invalid_name(name, "it is the name of this site. Give that of the application.")
    return name


def _invalid_name(sent: str, expected: str) -> ApiError:
    return InvalidClientMetadata().because(
        RegistrationReason.NAME, parameter="client_name", sent=sent, expected=expected
    )


def _host(uri: str) -> str:
    parts = urlsplit(uri)
    return (parts.hostname or parts.scheme)[:MAX_NAME]


def _link(name: str, given: str | None) -> str | None:
    try:
        return self_described.link(given)
    except ValueError as error:
        raise InvalidClientMetadata().because(
            RegistrationReason.LINK, parameter=name, sent=given or "", expected=str(error)
        ) from None


ADDRESS, TOTAL = "registration-address", "registration-total"  # limits


def register(ctx: Context, sent: ClientMetadata) -> RegisteredClientAnswer:
    """A new client of the type `DYNAMIC`, and its secret unless it authenticates by ``none``.

    At the limit `registration-total` an unused one is deleted, and this one is registered all the
    same. Raises `InvalidRedirectUri`, `InvalidClientMetadata` and `TooManyAttempts`.
    """
    values = read(ctx.settings, sent)
    ctx.limits.count(ADDRESS, ctx.limits.address)
    is_within = ctx.limits.allows(TOTAL)
    if not is_within:
        unused.displace_one(ctx)
    client, secret = _store(ctx, values)
    details = {"name": client.name, "redirect_uris": " ".join(values.redirect_uris)}
    record(ctx, Event.CLIENT_REGISTERED, client_id=client.id, details=details)
    return _answer(client, secret, values)


def _store(ctx: Context, values: Metadata) -> tuple[Client, str | None]:
    now = clock.now()
    secret = None if values.auth_method == "none" else new_secret()
    client = Client(
        id=uuid.uuid4(),
        name=values.name,
        type=DYNAMIC,
        secret_hash=hash_secret(secret) if secret else "",
        scope=values.scope,
        default_scope="",
        epoch=0,
        created_at=now,
        updated_at=now,
        client_uri=values.client_uri,
        policy_uri=values.policy_uri,
        tos_uri=values.tos_uri,
    )
    ctx.db.add(client)
    allowed = redirect_uris.allowed_by(ctx.settings)
    client_uris.replace(ctx.db, client, REDIRECT, values.redirect_uris, allowed)
    return client, secret


def _answer(client: Client, secret: str | None, values: Metadata) -> RegisteredClientAnswer:
    answer: RegisteredClientAnswer = {
        "client_id": str(client.id),
        "client_id_issued_at": int(client.created_at.timestamp()),
        "client_name": client.name,
        "redirect_uris": values.redirect_uris,
        "grant_types": list(grant_types_of(client.type, None)),
        "response_types": ["code"],
        "token_endpoint_auth_method": values.auth_method,
        "application_type": values.application_type,
    }
    if secret is not None:
        answer["client_secret"], answer["client_secret_expires_at"] = secret, 0
    if values.scope:
        answer["scope"] = values.scope
    if values.client_uri:
        answer["client_uri"] = values.client_uri
    if values.policy_uri:
        answer["policy_uri"] = values.policy_uri
    if values.tos_uri:
        answer["tos_uri"] = values.tos_uri
    return answer
