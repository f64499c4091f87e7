"""Everything between the wire and a view: strict bodies, errors, headers, who is calling."""

from pyramid.events import ApplicationCreated, BeforeRender, ContextFound
from pyramid.tweens import INGRESS

from . import assets, bodies, error_views, methods, proxies, rendering, source


def includeme(config):
    """Request attributes, the edge tween, ``body=``, static files and the error views."""
    config.registry["authsite.prefix"] = f"/{config.route_prefix}" if config.route_prefix else ""
    for name, function in {
        "id": source.request_id,
        "source": source.source,
        "client_address": proxies.client_address,
        "through_trusted_proxy": proxies.through_trusted_proxy,
        "base_url": proxies.base_url,
        "speaks": error_views.speaks,
    }.items():
        config.add_request_method(function, name, reify=True)
    config.add_tween("authsite.http.edge.edge_tween", under=INGRESS)
    config.add_view_deriver(bodies.body_deriver, "body")
    config.add_subscriber(methods.remember_methods, ApplicationCreated)
    config.add_subscriber(methods.refuse_other_methods, ContextFound)
    config.add_subscriber(rendering.add_globals, BeforeRender)
    assets.add_assets(config)
    error_views.add_views(config, standalone=config.registry["authsite.standalone"])
