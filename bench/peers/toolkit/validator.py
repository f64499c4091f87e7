"""The claims of the scopes, as the documentation of django-oauth-toolkit adds them."""

from typing import ClassVar

from oauth2_provider.oauth2_validators import OAuth2Validator


class Claims(OAuth2Validator):
    """The address and the name of the user."""

    oidc_claim_scope: ClassVar = {
        **OAuth2Validator.oidc_claim_scope,
        "name": "profile",
        "email": "email",
    }

    def get_additional_claims(self):
        """Claim -> what it is of a request."""
        return {
            "name": lambda request: request.user.get_full_name(),
            "email": lambda request: request.user.email,
        }
