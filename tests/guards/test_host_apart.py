"""What a host registers stays as it is when it includes authsite, and replaces nothing of ours."""

import pytest
from pyramid import interfaces
from pyramid.config import Configurator
from pyramid.csrf import CookieCSRFStoragePolicy
from pyramid.exceptions import ConfigurationError
from pyramid.renderers import JSON
from pyramid.request import Request
from pyramid.response import Response
from pyramid.router import default_execution_policy
from pyramid.session import SignedCookieSessionFactory
from pyramid.viewderivers import DefaultViewMapper
from sqlalchemy.exc import OperationalError

from tests.support.host import HostPolicy, hello, route
from tests.support.pages import csrf_of
from tests.support.site import SECRET, WEB

pytestmark = pytest.mark.both_databases

POLICY, CSRF_POLICY = HostPolicy(allows=True), CookieCSRFStoragePolicy()
SESSIONS, RENDERER = SignedCookieSessionFactory("of the host"), JSON(indent=4)
OWN_SETTINGS = {
    "host.key": "value",
    "pyramid.default_locale_name": "fr",
    "jinja2.directories": "tests:support",
    "retry.attempts": "5",
}


class HostRequest(Request):
    """The host's request class."""


class HostMapper(DefaultViewMapper):
    """The host's view mapper."""


def root(request):
    return {}


def locale(request):
    return "fr"


def response(request):
    return Response()


def execute(environ, router):
    return default_execution_policy(environ, router)


def host_tween(handler, registry):
    return handler


def no_storage(error, request):
    return Response("host: no storage", status=507)


def fail_to_store(request):
    raise OperationalError("SELECT", {}, Exception("the host's own database"))


EXPECTED = {
    interfaces.ISecurityPolicy: POLICY,
    interfaces.IRootFactory: root,
    interfaces.ISessionFactory: SESSIONS,
    interfaces.ICSRFStoragePolicy: CSRF_POLICY,
    interfaces.ILocaleNegotiator: locale,
    interfaces.IRequestFactory: HostRequest,
    interfaces.IResponseFactory: response,
    interfaces.IViewMapperFactory: HostMapper,
    interfaces.IExecutionPolicy: execute,
    interfaces.IDefaultPermission: "host",
}


def everything(config):
    """All that Pyramid lets an application register once."""
    config.set_security_policy(POLICY)
    config.set_root_factory(root)
    config.set_session_factory(SESSIONS)
    config.set_csrf_storage_policy(CSRF_POLICY)
    config.set_default_csrf_options(require_csrf=True, token="host_token", header="X-Host")
    config.set_default_permission("host")
    config.set_locale_negotiator(locale)
    config.set_request_factory(HostRequest)
    config.set_response_factory(response)
    config.set_view_mapper(HostMapper)
    config.set_execution_policy(execute)
    config.add_translation_dirs("tests:support")
    config.include("pyramid_jinja2")
    config.add_renderer("json", RENDERER)
    config.add_jinja2_renderer(".html")
    config.add_tween("tests.guards.test_host_apart.host_tween")
    config.add_notfound_view(lambda request: Response("host: not found", status=404))
    config.add_forbidden_view(lambda request: Response("host: forbidden", status=403))
    config.add_exception_view(no_storage, context=OperationalError)
    config.add_route("storage", "/storage")
    config.add_view(fail_to_store, route_name="storage", permission="host")


@pytest.fixture
def settings(database_url):
    return {"authsite.secret": SECRET, "authsite.database-url": database_url, **OWN_SETTINGS}


def utilities(registry):
    return {(each.provided, each.name): each.component for each in registry.registeredUtilities()}


def adapters(registry):
    return {
        (each.required, each.provided, each.name): each.factory
        for each in registry.registeredAdapters()
    }


def tweens(registry):
    return [name for name, _factory in registry.getUtility(interfaces.ITweens).implicit()]


def test_everything_that_a_host_has_registered_is_the_same_afterwards(settings):
    config = Configurator(settings=settings)
    everything(config)
    config.commit()
    config.get_jinja2_environment()
    registry = config.registry
    before = utilities(registry), adapters(registry), tweens(registry), dict(registry.settings)
    directories = list(registry.getUtility(interfaces.ITranslationDirectories))
    options = vars(registry.getUtility(interfaces.IDefaultCSRFOptions)).copy()
    jinja = config.get_jinja2_environment()
    search_path, names = list(jinja.loader.searchpath), (set(jinja.globals), set(jinja.filters))

    config.include("authsite", route_prefix="auth")
    app = config.make_wsgi_app()

    known, views, chain, values = before
    after = utilities(registry)
    assert {key for key in known if after[key] is not known[key]} == set()
    assert {key for key in views if adapters(registry)[key] is not views[key]} == set()
    ours = [name for name in tweens(registry) if name not in chain]
    assert ours == ["authsite.platform.http.tween.http_tween", "pyramid_tm.tm_tween_factory"]
    assert [name for name in tweens(registry) if name in chain] == chain
    own = {key: value for key, value in registry.settings.items() if "authsite." not in key}
    assert own == {key: value for key, value in values.items() if "authsite." not in key}
    assert registry.getUtility(interfaces.ITranslationDirectories) == directories
    assert vars(registry.getUtility(interfaces.IDefaultCSRFOptions)) == options
    assert jinja.loader.searchpath == search_path
    assert (set(jinja.globals), set(jinja.filters)) == names
    app.registry["authsite"].database.dispose()


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_a_host_registers_counts_before_and_after_the_include(settings, when):
    config = Configurator(settings=settings)
    for step in (everything, include) if when == "before" else (include, everything):
        step(config)
    app = config.make_wsgi_app()
    found = {each: app.registry.queryUtility(each) for each in EXPECTED}
    assert found == EXPECTED
    assert app.registry.getUtility(interfaces.IRendererFactory, "json") is RENDERER
    answer = app.invoke_subrequest(HostRequest.blank("/storage"), use_tweens=True)
    assert (answer.status_int, answer.text) == (507, "host: no storage")
    app.registry["authsite"].database.dispose()


def include(config):
    config.include("authsite", route_prefix="auth")


def deriver(*options):
    """A view deriver of the host that reads ``options``."""

    def derive(view, info):
        return view

    derive.options = options
    return derive


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", ["form", "body", "rate_limit"])
def test_a_view_deriver_of_the_host_replaces_none_of_ours(host_with, when, name):
    """Pyramid keeps one deriver of each name, and the application's own wins without a word."""

    def register(config):
        config.add_view_deriver(deriver(name), name)

    def nothing(config):
        pass

    limits = {"limits": "on", "limits_register_address": "1/hour"}
    before, build = (register, nothing) if when == "before" else (None, register)
    site = host_with(build, before=before, **limits, **WEB)
    assert site.http.post("/login", {"username": "a", "password": "b"}, status=403).html.form
    body = {"email": "x", "password": "purple wolf 77 tea"}
    assert site.http.post_json("/v1/register", body, status=422).json["errors"]
    assert site.http.post_json("/v1/register", body | {"email": "a@example.com"}, status="*")
    form = {"csrf_token": csrf_of(site.http.get("/register")), "email": "b@example.com"}
    site.http.post("/register", form | {"password": body["password"]}, status=429)


@pytest.mark.parametrize("option", [{"form": object()}, {"body": "any"}, {"rate_limit": "10/m"}])
def test_the_view_options_of_a_host_are_its_own(host_with, option):
    def build(config):
        config.add_view_deriver(deriver(*option), "host")
        config.add_route("page", "/page")
        config.add_view(hello, route_name="page", **option)

    host_with(build).http.get("/page", status=200)


class AnyRequest:
    """A route predicate of the host."""

    def __init__(self, value, info):
        self.value = value

    def text(self):
        return "host"

    phash = text

    def __call__(self, context, request):
        return True


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "option",
    [{"scope": "a"}, {"verified": True}, {"fresh": "10m"}, {"anonymous": True}, {}],
    ids=str,
)
def test_a_route_predicate_that_replaces_an_option_of_ours_stops_the_start(host_with, when, option):
    """The guard would let in callers without the scope."""
    [name] = option or ["guard"]

    def register(config):
        config.add_route_predicate(name, AnyRequest)

    def build(config):
        if when == "after":
            register(config)
        route(guard="api", **option)(config)

    with pytest.raises(ConfigurationError, match=f"its own route predicate '{name}'"):
        host_with(build, before=register if when == "before" else None)
