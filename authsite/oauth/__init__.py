"""OAuth 2.0: clients, token families, grants, the token endpoint and logout."""

from .tokens import TokenCodec


def at_logout(config, forget):
    """Directive: ``forget(request)`` runs at every API logout (the proxies clear their cookie)."""
    config.registry["authsite.at_logout"].append(forget)


def includeme(config):
    """The routes, ``request.token_codec`` and ``config.at_logout``."""
    codec = TokenCodec(config.registry["authsite.settings"].secret)
    config.registry["authsite.at_logout"] = []
    config.add_request_method(lambda _request: codec, "token_codec", property=True)
    config.add_directive("at_logout", at_logout)
    config.add_route("authsite.oauth.token", "/v1/oauth/token")
    config.add_route("authsite.logout", "/v1/logout", guard="api", unconfirmed=True)
    config.add_route("authsite.logout.slash", "/v1/logout/", guard="api", unconfirmed=True)
    config.scan(".api")
