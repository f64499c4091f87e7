"""The errors that an endpoint may respond with.

They follow from its guard, body and rate limit; its `Operation` declares the others.
"""

from collections.abc import Iterator

from authsite.admin.errors import PermissionMissing
from authsite.admin.guard import permission_scope
from authsite.admin.queries import ListQuery, invalid
from authsite.guards.errors import (
    ApplicationNotAllowed,
    EmailNotConfirmed,
    EmailNotVerified,
    InsufficientScope,
    LoginRequired,
    NotAuthenticated,
)
from authsite.platform.http.bodies import WORDS, Body, as_invalid_request, validate
from authsite.platform.http.body_values import FORM, JSON
from authsite.platform.http.cross_site import CrossOrigin, is_json_only
from authsite.platform.http.errors import (
    ApiError,
    FieldError,
    MalformedRequest,
    NotFound,
    PayloadTooLarge,
    RequestTimedOut,
    TemporarilyUnavailable,
    UnsupportedMediaType,
    ValidationFailed,
)
from authsite.platform.http.host import BadHost
from authsite.platform.http.methods import SAFE_METHODS
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.settings import Settings
from authsite.sign_in.errors import (
    PROOF_LIFETIME,
    DomainNotAllowed,
    InsufficientUserAuthentication,
)
from authsite.users.errors import UserRequired

from .endpoints import Endpoint


class OutsideOfNetworks(NotFound):
    summary = "The client address is outside of `admin-networks`."


class InternalError(ApiError):
    summary = "An error of the service, whose log has the request id."


def errors_of(endpoint: Endpoint, cfg: Settings) -> list[ApiError]:
    """All errors of ``endpoint``; none has 405, since a method of an endpoint is allowed."""
    return [
        BadHost(),
        *_by_guard(endpoint, cfg),
        *_by_permission(endpoint, cfg),
        *_by_origin(endpoint),
        *_by_query(endpoint),
        *_by_body(endpoint),
        *_declared(endpoint, cfg),
        *_by_load(endpoint),
        InternalError(),
    ]


def _declared(endpoint: Endpoint, cfg: Settings) -> Iterator[ApiError]:
    for error in endpoint.operation.errors:
        if error is DomainNotAllowed:
            if cfg.registration == "domains":
                yield DomainNotAllowed(cfg.registration_domains)
        else:
            yield error() if isinstance(error, type) else error


def _by_guard(endpoint: Endpoint, cfg: Settings) -> Iterator[ApiError]:
    rules = endpoint.rules
    if rules.guard is None:
        return
    yield NotAuthenticated(token_sent=True)
    if rules.scope:
        yield InsufficientScope(rules.scope)
    if rules.guard == "api" and not endpoint.options.get("personal_token"):
        yield LoginRequired()
    if rules.guard == "api" and not endpoint.options.get("any_client"):
        yield ApplicationNotAllowed()
    if cfg.confirmation_required:
        if not rules.unconfirmed:
            yield EmailNotConfirmed()
    elif cfg.variant == "A" and rules.verified and cfg.require_email_verification:
        yield UserRequired()
        yield EmailNotVerified()


def _by_permission(endpoint: Endpoint, cfg: Settings) -> Iterator[ApiError]:
    """The errors of the view option ``admin``."""
    permission = endpoint.options.get("admin")
    if permission is None:
        return
    if cfg.admin_networks:
        yield OutsideOfNetworks()
    yield PermissionMissing(permission_scope(permission))
    age = PROOF_LIFETIME if endpoint.options.get("recent") else None
    yield InsufficientUserAuthentication(age, cfg.admin_acr)


def _by_origin(endpoint: Endpoint) -> Iterator[ApiError]:
    """The error of a page of another site; that of a view with a cookie is declared."""
    asks_token = endpoint.rules.guard is not None and not endpoint.rules.anonymous
    if endpoint.method in SAFE_METHODS or asks_token or is_json_only(endpoint.options):
        return
    if "cross_site_error" not in endpoint.options:
        yield CrossOrigin()


def _by_query(endpoint: Endpoint) -> Iterator[ApiError]:
    query = endpoint.operation.query
    if query is not None and issubclass(query, ListQuery):
        yield MalformedRequest()
        yield ValidationFailed(details=[invalid("limit")])


def _by_body(endpoint: Endpoint) -> Iterator[ApiError]:
    model = endpoint.body
    if model is None:
        return
    yield MalformedRequest()
    yield PayloadTooLarge()
    yield RequestTimedOut()
    accepted = FORM if model.form_only else JSON if model.json_only else f"{FORM} or {JSON}"
    yield UnsupportedMediaType(f"Send the body as {accepted}.")
    mandatory, fields = _mandatory(model), list(model.model_fields)
    errors = [
        FieldError(code, [*mandatory, *fields][0], words)
        for code, words in WORDS.items()
        if mandatory or code != "required"
    ]
    if endpoint.error_format == "oauth":
        yield as_invalid_request(ValidationFailed(details=errors[:1]), model.oauth_codes)
    else:
        yield from (ValidationFailed(details=[error]) for error in errors)


def _mandatory(model: type[Body]) -> list[str]:
    """The fields that must not be missing; if all are optional, those that must not be empty."""
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    if required:
        return required
    try:
        validate(dict.fromkeys(model.model_fields, ""), model)
    except ValidationFailed as error:
        return [item.field for item in error.details if item.field and item.code == "required"]
    return []


def _by_load(endpoint: Endpoint) -> Iterator[ApiError]:
    if endpoint.options.get("rate_limit") or endpoint.options.get("admin"):
        yield TooManyAttempts(60)
    # These endpoints use the database.
    if endpoint.rules.guard or endpoint.body or endpoint.operation.errors:
        yield TemporarilyUnavailable()
