"""An application that includes authsite under a prefix, for ``pserve``.

It is copied to the folder of a machine: the checkout is not importable there.
"""

from pyramid.config import Configurator
from pyramid.response import Response

PREFIX = "auth"


def page(request):
    """A page of the shop, which says who is signed in."""
    email = request.authsite.caller.user.email
    name = request.matched_route.name.title()
    return Response(f"<!doctype html><link rel=icon href=data:,><h1>{name} of {email}</h1>")


def api(request):
    """An API of the shop."""
    return {"email": request.authsite.caller.user.email}


def main(global_config, **settings):
    config = Configurator(settings=settings)
    config.include("authsite", route_prefix=PREFIX)
    config.add_route("orders", "/orders", guard="web")
    config.add_route("vault", "/vault", guard="web", acr="aal2")
    config.add_route("payout", "/payout", guard="web", acr="aal2", fresh="10m")
    for name in ("orders", "vault", "payout"):
        config.add_view(page, route_name=name)
    config.add_route("api", "/api/orders", guard="api")
    config.add_view(api, route_name="api", renderer="json")
    return config.make_wsgi_app()
