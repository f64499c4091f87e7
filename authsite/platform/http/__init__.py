"""What stands between the server and a view: bodies, errors, headers and addresses."""

from pyramid.config import Configurator
from pyramid.events import ApplicationCreated, BeforeTraversal
from pyramid.tweens import INGRESS

from . import (
    address,
    address_value,
    bodies,
    cookies,
    cross_site,
    error_bodies,
    error_views,
    headers,
    languages,
    local,
    own_files,
    prefetch,
    proxies,
    request_facts,
    return_to,
    tween,
)
from .application import HttpApplication


def includeme(config: Configurator) -> None:
    """Add request attributes, the tween, the view option ``body``, static files and error views."""
    prefix = f"/{config.route_prefix}" if config.route_prefix else ""
    cfg = config.registry["authsite"].settings
    http: HttpApplication = config.registry["authsite.http"]
    # The header is valid for the whole host name, and so for the pages of a host application.
    hsts = cfg.hsts or ("host" if http.standalone else "off")
    http.prefix, http.hsts = prefix, headers.HSTS.get(hsts)
    http.addresses = address_value.configured(cfg.base_url, prefix)
    for name, function in {
        "request_id": request_facts.request_id,
        "request_info": request_facts.request_info,
        "client_address": proxies.client_address,
        "through_trusted_proxy": proxies.through_trusted_proxy,
        "cookies": lambda request: cookies.parse(request.environ.get("HTTP_COOKIE", "")),
        "address": address.address,
        "base_urls": address.base_urls,
        "error_format": error_bodies.error_format,
        "next": return_to.next_page,
    }.items():
        config.add_request_attribute(name, function)
    config.add_route_predicate("local", local.LocalPredicate)
    config.add_route_predicate("errors", error_bodies.ErrorsOption)
    config.add_tween("authsite.platform.http.tween.http_tween", under=INGRESS)
    config.add_view_deriver(
        prefetch.prefetch_deriver,
        "authsite_prefetch",
        under="decorated_view",
        over=("authsite_cross_site", "authsite_form", "authsite_personal_token"),
    )
    config.add_view_deriver(
        cross_site.cross_site_deriver,
        "authsite_cross_site",
        under="decorated_view",
        over=("authsite_body", "authsite_form", "authsite_rate_limit", "authsite_personal_token"),
    )
    config.add_view_deriver(bodies.body_deriver, "authsite_body")
    config.add_subscriber(headers.collect_methods, ApplicationCreated)
    config.add_subscriber(error_bodies.collect_formats, ApplicationCreated)
    config.add_subscriber(_before_view, BeforeTraversal)
    config.include(tween)
    own_files.add_assets(config)
    own_files.add_own_files(config)
    error_views.add_views(config, standalone=http.standalone)


def _before_view(event: BeforeTraversal) -> None:
    """Subscriber: what is decided before any guard, in this order."""
    request = event.request
    address.reject_bad_host(request)
    languages.choose_language(request)
    headers.reject_other_methods(request)
