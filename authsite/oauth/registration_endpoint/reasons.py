"""Why a client cannot register itself (RFC 7591, section 3.2.2)."""

from authsite.platform.denied_requests.reason import DenialReason, Texts

METADATA = "invalid_client_metadata"
CHANGE = "${parameter}: ${expected}"
PERSON = "The application could not register itself. Tell the people who run the application."


class RegistrationReason(DenialReason):
    """Why `/v1/oauth/register` registers nothing. What is wrong with a value is in `expected`."""

    APPLICATION_TYPE = Texts(
        "application_type",
        METADATA,
        "The `application_type` is neither `web` nor `native`.",
        PERSON,
        CHANGE,
    )
    AUTH_METHOD = Texts(
        "auth_method",
        METADATA,
        "The `token_endpoint_auth_method` is none that we have. `private_key_jwt` is not one.",
        PERSON,
        CHANGE,
    )
    LINK = Texts(
        "link",
        METADATA,
        "A link of the client, such as `policy_uri`, cannot be shown to users.",
        PERSON,
        CHANGE,
    )
    NAME = Texts(
        "name",
        METADATA,
        "The `client_name` is none that users can be shown.",
        PERSON,
        CHANGE,
    )
    REDIRECT_URI = Texts(
        "redirect_uri",
        "invalid_redirect_uri",
        "One of the `redirect_uris` is none that such a client may have, or there is none.",
        PERSON,
        CHANGE,
    )
    UNSUPPORTED = Texts(
        "unsupported",
        METADATA,
        "The `grant_types` or `response_types` lack the one that self-registered clients have.",
        PERSON,
        CHANGE,
    )
