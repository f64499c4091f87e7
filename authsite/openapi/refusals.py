"""How each endpoint may refuse: what its guard, its body and its room imply, and what it states."""

from collections.abc import Iterator
from typing import Any

from authsite.guards.errors import (
    EmailNotConfirmed,
    EmailNotVerified,
    InsufficientScope,
    NotAuthenticated,
    UserRequired,
)
from authsite.http.bodies import FORM, JSON, WORDS, as_invalid_request
from authsite.http.errors import (
    ApiError,
    FieldError,
    MalformedRequest,
    PayloadTooLarge,
    RequestTimedOut,
    TemporarilyUnavailable,
    UnsupportedMediaType,
    ValidationFailed,
)
from authsite.throttle.errors import TooManyAttempts

from .endpoints import Endpoint


def refusals(endpoint: Endpoint, cfg: Any) -> list[ApiError]:
    """Every error that ``endpoint`` may answer with, besides 405 and 500, which all may."""
    return [
        *_by_guard(endpoint, cfg),
        *_by_body(endpoint),
        *(error() if isinstance(error, type) else error for error in endpoint.answers.errors),
        *_by_machinery(endpoint),
    ]


def _by_guard(endpoint: Endpoint, cfg: Any) -> Iterator[ApiError]:
    rules = endpoint.rules
    if rules.guard is None:
        return
    yield NotAuthenticated(token_sent=True)
    if rules.scope:
        yield InsufficientScope(rules.scope)
    if cfg.variant == "B":
        if cfg.require_email_confirmation and not rules.unconfirmed:
            yield EmailNotConfirmed()
    elif rules.verified and cfg.require_email_verification:
        yield UserRequired()
        yield EmailNotVerified()


def _by_body(endpoint: Endpoint) -> Iterator[ApiError]:
    model = endpoint.body
    if model is None:
        return
    yield MalformedRequest()
    yield PayloadTooLarge()
    yield RequestTimedOut()
    accepted = FORM if model.form_only else f"{FORM} or {JSON}"
    yield UnsupportedMediaType(f"Send the body as {accepted}.")
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    field = [*required, *model.model_fields][0]
    mistakes = [FieldError(code, field, words) for code, words in WORDS.items()]
    if endpoint.style == "oauth":
        yield as_invalid_request(ValidationFailed(details=mistakes[:1]))
    else:
        yield from (ValidationFailed(details=[mistake]) for mistake in mistakes)


def _by_machinery(endpoint: Endpoint) -> Iterator[ApiError]:
    if endpoint.options.get("throttle"):
        yield TooManyAttempts(60)
    # Whatever can be refused is looked up somewhere.
    if endpoint.rules.guard or endpoint.body or endpoint.answers.errors:
        yield TemporarilyUnavailable()
