"""The names that authsite takes in a host: all of them, and no other (trial 5)."""

import pytest
from pyramid.config import Configurator
from pyramid.events import NewRequest, NewResponse
from pyramid.interfaces import IRoutesMapper, ITweens
from pyramid.response import Response

from authsite.platform.request_state import RequestState
from tests.support.host import HostSite
from tests.support.pages import sign_in
from tests.support.site import bearer

# Names that authsite gave requests of a host before, and that hosts use for themselves.
OWN = [
    "db",
    "cfg",
    "attempts",
    "source",
    "id",
    "request_id",
    "reading",
    "database",
    "passwords",
    "caller",
    "given",
    "typed",
    "sent",
    "mistakes",
    "base_url",
    "client_address",
    "csrf_token",
    "speaks",
    "signed_in",
    "token_codec",
    "login_steps",
    "user",
    "address",
    "cookies_read",
]


def with_attributes_of_its_own(config):
    for name in OWN:
        config.add_request_method(lambda request, name=name: f"host {name}", name, reify=True)


def page(config):
    config.add_route("page", "/page")
    config.add_view(lambda request: Response("host"), route_name="page")
    for guard in ("api", "web"):
        config.add_route(guard, f"/{guard}", guard=guard)
        config.add_view(own_values, route_name=guard, renderer="json")


def own_values(request):
    return {name: getattr(request, name) for name in OWN}


def registered(build, **options):
    """What a request of the application can do, and what the application has registered."""
    seen = {}

    def look(event):
        seen["attributes"] = {name for name in dir(event.request) if not name.startswith("_")}

    def answered(event):
        seen["after"] = {name for name in vars(event.request) if not name.startswith("_")}
        seen["headers"] = sorted(event.response.headers)

    def watched(config):
        build(config)
        config.add_subscriber(look, NewRequest)
        config.add_subscriber(answered, NewResponse)

    return watched, seen


@pytest.fixture
def bare(database_url):
    """The same host without authsite: its request attributes, routes and registry keys."""
    from webtest import TestApp

    def build(config):
        config.add_route("page", "/page")
        config.add_view(lambda request: Response("host"), route_name="page")

    watched, seen = registered(build)
    config = Configurator()
    watched(config)
    app = config.make_wsgi_app()
    TestApp(app).get("/page")
    return app.registry, seen


def test_trial_5_request_authsite_is_the_only_name_on_a_request(host_with, bare):
    watched, seen = registered(page)
    site = host_with(watched)
    site.http.get("/page")
    _registry, without = bare
    assert seen["attributes"] - without["attributes"] == {"authsite", "tm"}  # tm is pyramid_tm's
    # Pyramid's router sets these itself, for an application that has more than one route.
    assert seen["after"] - without["after"] <= {"authsite", "tm"}
    assert seen["headers"] == without["headers"]


def test_trial_5_routes_tweens_registry_keys_and_renderers_carry_our_name(host_with, bare):
    site = host_with(page)
    registry, _seen = bare
    routes = {route.name for route in site.app.routes_mapper.get_routes(include_static=True)}
    hosts = {route.name for route in registry.getUtility(IRoutesMapper).get_routes()}
    others = routes - hosts - {"api", "web"}
    assert {name.split(".")[0] for name in others} == {"authsite"}
    keys = {key for key in site.app.registry if key not in registry}
    ours = {"http", "request_state", "guards", "openapi", "monitoring"}
    assert keys == {"authsite", *(f"authsite.{package}" for package in ours)}
    tweens = {name for name, _ in site.app.registry.getUtility(ITweens).implicit()}
    before = {name for name, _ in registry.getUtility(ITweens).implicit()}
    assert tweens - before == {
        "authsite.platform.http.tween.http_tween",
        "pyramid_tm.tm_tween_factory",
    }


def test_view_derivers_and_predicates_carry_our_name(host_with):
    """Pyramid keeps one of each name, and the application's own wins without a word."""
    names = {}
    for application, site in (("host", host_with(page).app), ("bare", Configurator())):
        introspector = site.registry.introspector
        for kind in ("view derivers", "view predicates"):
            found = introspector.get_category(kind) or ()
            names[application, kind] = {each["introspectable"]["name"] for each in found}
    for kind in ("view derivers", "view predicates"):
        ours = names["host", kind] - names["bare", kind] - {"tm_active"}  # pyramid_tm's
        assert ours
        assert [name for name in ours if not name.startswith("authsite_")] == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_trial_5_a_hosts_own_attributes_and_ours_do_not_meet(host_with, when):
    def build(config):
        page(config)
        if when == "after":
            with_attributes_of_its_own(config)

    site = host_with(build, before=with_attributes_of_its_own if when == "before" else None)
    site.user()
    headers = bearer(site.login(site.client())["access_token"])
    wanted = {name: f"host {name}" for name in OWN}
    assert site.http.get("/api", headers=headers).json == wanted
    sign_in(site)
    assert site.http.get("/web").json == wanted
    assert site.http.get("/account").status_int == 200


def test_trial_5_a_host_attribute_named_authsite_stops_the_start(database_url):
    def build(config):
        config.add_request_method(lambda request: "host", "authsite", reify=True)

    # The name in the application itself wins in Pyramid; so it is looked at when it starts.
    with pytest.raises(Exception, match=r"request\.authsite"):
        HostSite(database_url, build)


def test_the_state_of_one_application_is_not_that_of_another(host_with):
    first, second = host_with(page), host_with(page)
    states = [site.app.registry["authsite.request_state"] for site in (first, second)]
    assert states[0] is not states[1]
    assert all(issubclass(state, RequestState) for state in states)
