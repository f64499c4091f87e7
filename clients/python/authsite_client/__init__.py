"""Access tokens of authsite, for applications in any framework; only the standard library.

`Verifier`, `WsgiMiddleware` and `AsgiMiddleware` protect an application. `Client` and `Session` log
in and call authsite's API. The modules ``requests_auth`` and ``httpx_auth`` send the tokens of a
session with these libraries; they alone import them.
"""

from .asgi import AsgiMiddleware
from .async_client import AsyncClient
from .async_session import AsyncSession
from .client import Client
from .connections import Service
from .errors import (
    ApiError,
    AuthsiteError,
    ClientRequired,
    EmailNotVerified,
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
    UserRequired,
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
    "AsyncClient",
    "AsyncSession",
    "AuthsiteError",
    "Client",
    "ClientRequired",
    "EmailNotVerified",
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
    "UserRequired",
    "ValidationFailed",
    "VerificationError",
    "Verifier",
    "WsgiMiddleware",
]
