"""Clients that register themselves: one request for each reason."""

from .cases import Denied, case

CALLBACK = "https://app.example.org/callback"


def register(world, shown, **changed):
    world.another(client_registration="open")
    body = {"redirect_uris": [CALLBACK], **changed}
    return Denied(world.site.http.post_json("/v1/oauth/register", body, status="*"), shown)


def simple(name, **changed):
    """A reason that one value decides."""
    [(parameter, sent)] = changed.items()
    shown = {"parameter": parameter, "sent": sent[0] if isinstance(sent, list) else sent}
    case(f"registration.{name}")(lambda world: register(world, shown, **changed))


simple("application_type", application_type="mobile")
simple("auth_method", token_endpoint_auth_method="private_key_jwt")
simple("link", policy_uri="http://app.example.org/policy")
simple("name", client_name="a" * 201)
simple("redirect_uri", redirect_uris=["http://app.example.org/callback"])
simple("unsupported", grant_types=["implicit"])
