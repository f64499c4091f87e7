"""Access tokens of authsite, for applications in any framework; only the standard library.

`Verifier`, `WsgiMiddleware` and `AsgiMiddleware` protect an application. `CodeLogin` signs users of
a web application in. `Client` and `Session` log in and call authsite's API. The modules
``requests_auth`` and ``httpx_auth`` send the tokens of a session with these libraries, and ``oidc``
checks signatures of ID tokens with joserfc; they alone import them.
"""

from .asgi import AsgiMiddleware
from .async_client import AsyncClient
from .async_session import AsyncSession
from .client import Client
from .code_login import CodeLogin, SignedIn
from .connections import Service
from .device import DeviceCode
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
    LoginFailed,
    MfaRequired,
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
from .protected_resource import ProtectedResource
from .second_steps import Enrollment
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
    "CodeLogin",
    "DeviceCode",
    "EmailNotVerified",
    "Enrollment",
    "FieldError",
    "Forbidden",
    "Identity",
    "InsufficientScope",
    "InvalidClient",
    "InvalidGrant",
    "InvalidRequest",
    "InvalidScope",
    "InvalidToken",
    "LoginFailed",
    "MfaRequired",
    "MissingToken",
    "ProtectedResource",
    "Service",
    "Session",
    "SignedIn",
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
