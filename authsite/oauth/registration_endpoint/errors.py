"""Errors of a registration (RFC 7591, section 3.2.2)."""

from authsite.platform.http.errors import ApiError


class InvalidRedirectUri(ApiError):
    summary = "A redirect URI is missing, or is one that the client may not have."
    status = 400
    code = "invalid_redirect_uri"


class InvalidClientMetadata(ApiError):
    summary = "The metadata of the client have a value that cannot be registered."
    status = 400
    code = "invalid_client_metadata"
