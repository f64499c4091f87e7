"""Access tokens of authsite, for applications in any framework; only the standard library.

`Verifier`, `WsgiMiddleware` and `AsgiMiddleware` protect an application. `Client` and `Session` log
in and call authsite's API.
"""

from .asgi import AsgiMiddleware
from .async_session import AsyncSession
from .client import Client
from .connections import Service
from .errors import (
    ApiError,
    AuthsiteError,
    FieldError,
    Forbidden,
    InsufficientScope,
    InvalidClient,
    InvalidGrant,
    InvalidRequest,
    InvalidScope,
    InvalidToken,
    MissingToken,
    TemporarilyUnavailable,
    TooManyAttempts,
    Unauthenticated,
    UnauthorizedClient,
    Unavailable,
    Unreachable,
    UnsupportedGrantType,
    ValidationFailed,
    VerificationError,
)
from .identity import Identity
from .session import Session
from .tokens import Tokens
from .verifier import Verifier
from .wsgi import IDENTITY, WsgiMiddleware

__all__ = [
    "IDENTITY",
    "ApiError",
    "AsgiMiddleware",
    "AsyncSession",
    "AuthsiteError",
    "Client",
    "FieldError",
    "Forbidden",
    "Identity",
    "InsufficientScope",
    "InvalidClient",
    "InvalidGrant",
    "InvalidRequest",
    "InvalidScope",
    "InvalidToken",
    "MissingToken",
    "Service",
    "Session",
    "TemporarilyUnavailable",
    "Tokens",
    "TooManyAttempts",
    "Unauthenticated",
    "UnauthorizedClient",
    "Unavailable",
    "Unreachable",
    "UnsupportedGrantType",
    "ValidationFailed",
    "VerificationError",
    "Verifier",
    "WsgiMiddleware",
]
