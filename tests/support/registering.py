"""Clients that register themselves, and what they do then."""

from tests.support.authorizing import BASE, CALLBACK, Application

PATH = "/v1/oauth/register"


def post(site, *, status=201, address=None, headers=None, **metadata):
    """POST the metadata; the answer. ``address``: of the client."""
    metadata = {"redirect_uris": [CALLBACK], "client_name": "Notes", **metadata}
    metadata = {name: value for name, value in metadata.items() if value is not ...}
    environ = {"REMOTE_ADDR": address} if address else None
    return site.http.post_json(
        f"{BASE}{PATH}", metadata, status=status, headers=headers, extra_environ=environ
    )


def registered(site, **metadata):
    """An application that has registered itself; by default without a secret."""
    metadata = {"token_endpoint_auth_method": "none", **metadata}
    answer = post(site, **metadata).json
    return Application(
        answer["client_id"],
        answer.get("client_secret"),
        answer["redirect_uris"][0],
        answer["client_name"],
    )
