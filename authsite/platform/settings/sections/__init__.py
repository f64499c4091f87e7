"""All settings, a class for each section of ``docs/settings.md``, a setting for each field.

`authsite.platform.settings.definition` says what defines a setting.
"""

from .accounts import Accounts
from .administration import Administration
from .factors import SecondFactors
from .login import Login
from .mail import Mail
from .openid import OpenId
from .operations import Operations
from .pages import LOCALIZED, Pages
from .providers import PROVIDER, Provider, Providers
from .storage import Storage
from .tokens import CLIENT, ProxyClient, Tokens

__all__ = [
    "CLIENT",
    "LOCALIZED",
    "PROVIDER",
    "Accounts",
    "Administration",
    "Login",
    "Mail",
    "OpenId",
    "Operations",
    "Pages",
    "Provider",
    "Providers",
    "ProxyClient",
    "SecondFactors",
    "Storage",
    "Tokens",
]
