"""The settings of the peer's own project, with OpenID Connect."""

import os

from dotproj.settings import *  # noqa: F403
from dotproj.settings import OAUTH2_PROVIDER

OAUTH2_PROVIDER = {
    **OAUTH2_PROVIDER,
    "OIDC_ENABLED": True,
    "OIDC_RSA_PRIVATE_KEY": os.environ["DOT_KEY"],
    "OAUTH2_VALIDATOR_CLASS": "validator.Claims",
    "SCOPES": {
        **OAUTH2_PROVIDER["SCOPES"],
        "openid": "Sign in",
        "email": "Address",
        "profile": "Name",
    },
}
