"""The protocol with another provider: OpenID Connect, and OAuth 2.0 of GitHub.

`begin` leads a browser to the provider, `came_back` says whether this browser returns, and `finish`
who it is.
"""

from .failures import ProviderFailure, ProviderRefused, keeping, stating
from .people import is_allowed
from .protocol import (
    WHILE_A_MAIL_IS_AWAITED,
    begin,
    browser_of,
    came_back,
    finish,
    keep_browser,
    redirect_uri,
    return_url,
    start_url,
)
from .values import ProvidedIdentity, Purpose, Returned, Start

__all__ = [
    "WHILE_A_MAIL_IS_AWAITED",
    "ProvidedIdentity",
    "ProviderFailure",
    "ProviderRefused",
    "Purpose",
    "Returned",
    "Start",
    "begin",
    "browser_of",
    "came_back",
    "finish",
    "is_allowed",
    "keep_browser",
    "keeping",
    "redirect_uri",
    "return_url",
    "start_url",
    "stating",
]
