"""The second factors of the signed-in user: the API below /v1/user/."""

from authsite.platform.http.api_metadata import Tag

API_TAG = Tag(
    "Second factors and passkeys",
    "What the user that a token acts for proves in addition to the password, or instead of it.",
    place=50,
)
