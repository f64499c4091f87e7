"""What of the metadata of a client can be registered (RFC 7591, section 2)."""

from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from authsite.oauth import redirect_uris, self_described
from authsite.oauth.clients import MAX_NAME
from authsite.oauth.models import MAX_URIS, NATIVE, SERVER
from authsite.oauth.redirect_uris import Allowed
from authsite.platform.http.errors import ApiError
from authsite.platform.runtime.lines import NotOneLine, one_line
from authsite.platform.settings import Settings

from .bodies import ClientMetadata
from .errors import InvalidClientMetadata, InvalidRedirectUri
from .reasons import RegistrationReason as Why

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
        Why.APPLICATION_TYPE,
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
        Why.REDIRECT_URI, parameter="redirect_uris", sent=sent, expected=expected
    )


def _require(name: str, given: list[str] | None, field: str) -> None:
    if given is not None and name not in given:
        raise InvalidClientMetadata().because(
            Why.UNSUPPORTED,
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
        Why.AUTH_METHOD,
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
        Why.NAME, parameter="client_name", sent=sent, expected=expected
    )


def _host(uri: str) -> str:
    parts = urlsplit(uri)
    return (parts.hostname or parts.scheme)[:MAX_NAME]


def _link(name: str, given: str | None) -> str | None:
    try:
        return self_described.link(given)
    except ValueError as error:
        raise InvalidClientMetadata().because(
            Why.LINK, parameter=name, sent=given or "", expected=str(error)
        ) from None
