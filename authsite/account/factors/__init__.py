"""The second factors of the signed-in user: the API below /v1/user/, and the account pages."""

from authsite.platform.http.api_metadata import Tag

API_TAG = Tag(
    "Second factors",
    "Authenticator apps, passkeys and recovery codes of the user that a token acts for.",
)
