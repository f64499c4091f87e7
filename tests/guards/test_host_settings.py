"""What a host sets for itself changes no page and no answer of authsite (M7 and its class)."""

import re
from itertools import groupby

import pytest
from pyramid.events import BeforeRender
from pyramid.httpexceptions import HTTPForbidden
from pyramid.renderers import JSON
from pyramid.request import Request
from pyramid.response import Response
from pyramid.session import SignedCookieSessionFactory

from tests.support import extent
from tests.support.host import HostSite
from tests.support.pages import csrf_of
from tests.support.site import PASSWORD, bearer

MARKUP = '"><b id=x>'
GERMAN = {"Accept-Language": "de"}


def shout(*words, **_more):
    return "HOST"


class HostWords:
    """A gettext of the host, as `jinja2.i18n.gettext` names it."""

    def __init__(self, domain):
        self.gettext = self.ngettext = shout


SETTINGS = {
    "jinja2.autoescape": "false",
    "jinja2.undefined": "strict",
    "jinja2.trim_blocks": "true",
    "jinja2.lstrip_blocks": "true",
    "jinja2.newstyle": "true",
    "jinja2.variable_start_string": "[[",
    "jinja2.block_start_string": "<%",
    "jinja2.line_statement_prefix": "<",
    "jinja2.extensions": "jinja2.ext.do",
    "jinja2.i18n.gettext": "tests.guards.test_host_settings.HostWords",
    "jinja2.filters": "first = tests.guards.test_host_settings.shout",
    "jinja2.globals": "translate = tests.guards.test_host_settings.shout",
    "jinja2.finalize": "tests.guards.test_host_settings.shout",
    "jinja2.directories": "authsite:templates/mail",
    "jinja2.input_encoding": "utf-16",
    "pyramid.default_locale_name": "fr",
    "pyramid.reload_templates": "true",
    "pyramid.prevent_http_cache": "true",
    "pyramid.prevent_cachebust": "true",
    "pyramid.debug_authorization": "true",
    "pyramid.csrf_trusted_origins": "evil.example",
    "retry.attempts": "5",
    "tm.annotate_user": "true",
    "tm.commit_veto": "pyramid_tm.default_commit_veto",
    "tm.manager_hook": "pyramid_tm.explicit_manager",
}


def with_jinja(config):
    config.include("pyramid_jinja2")
    config.get_jinja2_environment()


def with_a_renderer_of_its_own(config):
    def renderer(info):
        return shout

    for name in (".jinja2", ".html", ".txt", None, "json", "string"):
        config.add_renderer(name, renderer)


def with_a_json_renderer_of_its_own(config):
    config.add_renderer("json", JSON(indent=4, sort_keys=True))


def with_values_of_its_own(config):
    """`request.translate` as `_` is what Pyramid's own documentation proposes."""
    names = (
        "_",
        "gettext",
        "ngettext",
        "url",
        "static",
        "home",
        "form",
        "errors",
        "cfg",
        "translate",
    )

    def add(event):
        for name in names:
            event[name] = shout

    config.add_subscriber(add, BeforeRender)


def with_csrf(config):
    config.set_default_csrf_options(require_csrf=True)
    config.set_session_factory(SignedCookieSessionFactory("of the host"))


def with_a_strict_root(config):
    def root(request):
        raise HTTPForbidden

    config.set_root_factory(root)


def with_a_strict_permission(config):
    config.set_default_permission("administrate")


def with_a_locale_negotiator(config):
    config.set_locale_negotiator(lambda request: "fr")


def with_request_and_response_classes(config):
    class HostRequest(Request):
        db = cfg = attempts = source = id = reading = given = passwords = "of the host"

    config.set_request_factory(HostRequest)
    config.set_response_factory(host_response)


def host_response(request):
    response = Response()
    response.headers["X-Host"] = "1"
    return response


def with_retry(config):
    config.include("pyramid_retry")


def with_http_exception_pages(config):
    config.add_notfound_view(lambda request: Response("host", status=404))
    config.add_forbidden_view(lambda request: Response("host", status=403))


BEFORE = [
    with_jinja,
    with_a_renderer_of_its_own,
    with_a_json_renderer_of_its_own,
    with_values_of_its_own,
    with_csrf,
    with_a_strict_root,
    with_a_strict_permission,
    with_a_locale_negotiator,
    with_request_and_response_classes,
    with_retry,
    with_http_exception_pages,
]


def nothing(config):
    """A host without routes."""


PAGES = [
    "/login",
    "/register",
    "/password/forgot",
    "/password/reset",
    "/email/link",
    "/email/verify?url=x",
    "/account/profile",
    "/account",
    "/docs",
    "/v1/openapi.json",
]


def responses(site):
    """Pages and API responses of all kinds, without what differs each time."""
    site.user(confirmed=True)
    keys = site.client()
    token = site.login(keys)["access_token"]
    http = site.http
    shown = {path: http.get(path, headers=GERMAN, status="*") for path in PAGES}
    wrong = {"csrf_token": csrf_of(shown["/login"]), "username": MARKUP, "password": "x"}
    shown["wrong login"] = http.post("/login", wrong, headers=GERMAN, status="*")
    shown["forged"] = http.post("/login", {**wrong, "csrf_token": "00"}, status="*")
    shown["api"] = http.get("/v1/user", headers=bearer(token), status="*")
    shown["api 401"] = http.get("/v1/user", status="*")
    shown["api 422"] = http.post("/v1/register", {"email": "x"}, status="*")
    shown["api 201"] = http.post(
        "/v1/register", {"email": "new@example.com", "password": PASSWORD}, status="*"
    )
    form = {"csrf_token": csrf_of(shown["/login"]), "username": "ann@example.com"}
    shown["login"] = http.post("/login", {**form, "password": PASSWORD}, status="*")
    shown["signed in"] = http.get("/account", headers=GERMAN, status="*")
    return {name: normalized(answer) for name, answer in shown.items()}


def normalized(answer):
    text = re.sub(r'value="[0-9a-f]{64}"', "value=csrf", answer.text)
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "uuid", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]?[\d:]*Z?|\d\d?:\d\d", "time", text)
    headers = sorted(
        (name, re.sub(r"=[^;]+", "", value) if name == "Set-Cookie" else value)
        for name, value in answer.headers.items()
        if name not in ("X-Request-Id", "Content-Length", "ETag", "X-Host")
    )
    return answer.status_int, headers, text


PLAIN = {}


@pytest.fixture
def plain(host_with):
    """What authsite answers in a host that sets nothing."""
    if not PLAIN:
        PLAIN.update(responses(host_with(nothing)))
    return PLAIN


def together():
    """The names of settings for one host: in a whole run each by itself."""
    if extent.ALL:
        return [[name] for name in SETTINGS]
    by_package = groupby(SETTINGS, key=lambda name: name.partition(".")[0])
    return [list(names) for _, names in by_package]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("names", together(), ids=lambda names: names[0])
def test_m7_settings_of_the_host_change_no_answer_of_ours(host_with, plain, names):
    own = {name: SETTINGS[name] for name in names}
    site = host_with(nothing, own=own, before=with_jinja if names[0].startswith("jinja2") else None)
    assert responses(site) == plain


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("before", BEFORE)
def test_m7_what_a_host_registers_changes_no_answer_of_ours(host_with, plain, before):
    assert responses(host_with(nothing, before=before)) == plain
    assert responses(host_with(before)) == plain  # after authsite was included


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_m7_pages_are_escaped_though_a_host_switches_escaping_off(host_with):
    site = host_with(nothing, own={"jinja2.autoescape": "false"})
    shown = responses(site)
    for name in ("wrong login", "forged"):
        assert "<b id=x>" not in shown[name][2]
        assert "&#34;&gt;&lt;b id=x&gt;" in shown[name][2]


def test_authsite_gives_a_host_no_renderer_of_jinja(host_with):
    from pyramid.interfaces import IRendererFactory

    site = host_with(nothing)
    names = {name for name, _ in site.app.registry.getUtilitiesFor(IRendererFactory)}
    assert names == {"json", "string"}


@pytest.mark.parametrize(
    "tweens",
    [
        "pyramid.tweens.excview_tween_factory",
        "authsite.platform.http.tween.http_tween pyramid.tweens.excview_tween_factory",
        "pyramid_tm.tm_tween_factory pyramid.tweens.excview_tween_factory",
    ],
)
def test_tweens_of_a_host_that_leave_ours_out_stop_the_start(database_url, tweens):
    with pytest.raises(Exception, match=r"pyramid\.tweens lists .* add"):
        HostSite(database_url, nothing, own={"pyramid.tweens": tweens})


def test_a_host_may_list_its_tweens_with_ours_among_them(host_with):
    tweens = (
        "authsite.platform.http.tween.http_tween pyramid_tm.tm_tween_factory"
        " pyramid.tweens.excview_tween_factory"
    )
    site = host_with(nothing, own={"pyramid.tweens": tweens})
    site.user()
    assert site.me(site.login(site.client())["access_token"]).headers["X-Request-Id"]


def never(request):
    """A hook of the host: no transactions, please."""
    return False


def test_a_hook_that_switches_transactions_off_is_an_error_and_loses_no_write_silently(host_with):
    site = host_with(nothing, own={"tm.activate_hook": "tests.guards.test_host_settings.never"})
    site.user()
    keys = site.client()
    site.login(keys)  # its rows are committed by themselves
    assert site.events()[-1] == "token.issued"
    with pytest.raises(RuntimeError, match=r"tm\.activate_hook"):
        site.try_login(keys)
    form = {"email": "new@example.com", "password": PASSWORD}
    with pytest.raises(RuntimeError, match=r"tm\.activate_hook"):
        site.http.post("/v1/register", form)
