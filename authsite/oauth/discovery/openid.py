"""The members of the metadata with OpenID Connect (OpenID Connect Discovery 1.0, section 3)."""

from collections.abc import Callable
from itertools import chain

from authsite.oauth.oidc.claims import CLAIMS_OF_SCOPE, ID_TOKEN_CLAIMS
from authsite.oauth.oidc.keys.pairs import ALGORITHMS
from authsite.platform.settings import Settings

from .document import MetadataAnswer

SCOPES = ("openid", "profile", "email", "phone", "groups", "offline_access")
PROMPTS = ("none", "login", "consent", "select_account")
CREATE = "create"  # Initiating User Registration via OpenID Connect 1.0
CLAIMS = (*ID_TOKEN_CLAIMS, *chain(*CLAIMS_OF_SCOPE.values()))


def openid_members(
    answer: MetadataAnswer, settings: Settings, endpoint: Callable[[str], str | None]
) -> None:
    """Add the members to ``answer``; ``endpoint``: the URL of a route, None if there is none."""
    if url := endpoint("authsite.authorize"):
        answer["authorization_endpoint"] = url
    if url := endpoint("authsite.oauth.userinfo"):
        answer["userinfo_endpoint"] = url
    if url := endpoint("authsite.oauth.end_session"):
        answer["end_session_endpoint"] = url
    if url := endpoint("authsite.oauth.register"):
        answer["registration_endpoint"] = url
    if settings.client_id_documents:
        answer["client_id_metadata_document_supported"] = True
    if url := endpoint("authsite.oauth.device"):
        answer["device_authorization_endpoint"] = url
    answer["jwks_uri"] = endpoint("authsite.jwks") or ""
    answer["scopes_supported"] = list(dict.fromkeys((*SCOPES, *settings.scopes)))
    answer["response_modes_supported"] = ["query"]
    answer["code_challenge_methods_supported"] = ["S256"]
    answer["authorization_response_iss_parameter_supported"] = True
    answer["subject_types_supported"] = ["public"]
    answer["id_token_signing_alg_values_supported"] = list(ALGORITHMS)
    prompts = [*PROMPTS, CREATE] if settings.registration_open else list(PROMPTS)
    answer["prompt_values_supported"] = prompts
    answer["display_values_supported"] = ["page"]
    answer["claim_types_supported"] = ["normal"]
    answer["claims_supported"] = list(CLAIMS)
    answer["ui_locales_supported"] = list(settings.languages)
    answer["claims_parameter_supported"] = False
    answer["request_parameter_supported"] = False
    answer["request_uri_parameter_supported"] = False
