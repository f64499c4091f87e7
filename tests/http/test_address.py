"""Everything that names an address names ours, whatever the request says (H6, trial 1, 2, 6)."""

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from webtest import TestApp

import authsite
from tests.support import mails
from tests.support.host import hello
from tests.support.public import EVIL, PublicApp, TlsProxy
from tests.support.site import PASSWORD
from tests.support.walk import SETTINGS, views, walk, walked

ORIGIN, BELOW = "https://auth.example.org", "https://example.com/auth"


@pytest.fixture
def visit(site_with):
    """A factory: the site at ``base_url`` behind a proxy, and what passed through that."""
    changed = []

    def visited(base_url, *, strips=False, **settings):
        site = site_with(base_url=base_url, **settings)
        changed.append((site, site.http))
        proxy = TlsProxy(site.app, base_url, strips=strips)
        site.http = PublicApp(proxy, base_url)
        return site, proxy.seen

    yield visited
    for site, http in changed:
        site.http = http


@pytest.mark.parametrize(("base_url", "strips"), [(ORIGIN, False), (BELOW, False), (BELOW, True)])
def test_every_address_in_every_answer_is_ours(visit, base_url, strips):
    """H6, trial 1, 6 and 12: redirects, cookies, links, forms, files and mails of every route."""
    site, seen = visit(base_url, strips=strips, **SETTINGS)
    keys = site.first_party("web")
    with walked(site) as routes:
        walk(site, keys)
    assert views(site) - routes == set()  # so every route that redirects has done so
    path = urlsplit(base_url).path
    locations = [value for each in seen for value in each.header("Location")]
    assert len(locations) > 10
    for location in locations:
        assert location.startswith(f"{base_url}/"), location
    cookies = {value for each in seen for value in each.header("Set-Cookie")}
    names = {cookie.partition("=")[0] for cookie in cookies}
    kinds = ["csrf", "address", "language", "registered", "login", "factor", "later"]
    own = {"__Host-authsite", *(f"__Host-authsite-{kind}" for kind in kinds)}
    assert names == {*own, "__Host-authsite-refresh-web", "__Host-device", "refreshToken"}
    for cookie in cookies:
        own = "/" if cookie.startswith("__Host-") else f"{path}/v1/clients/web"
        assert f"; Path={own};" in cookie, cookie
        assert "; secure" in cookie, cookie
    links = {address for each in seen for address in each.addresses()}
    assert len(links) > 30
    for link in links:
        if link.startswith("otpauth:"):  # for an authenticator app
            continue
        assert link.startswith((f"{base_url}/", "mailto:")), link
        # 403 and 405: where a form is sent.
        assert site.http.get(link, status="*").status_int in (200, 302, 303, 403, 405), link
    for each in seen:
        assert EVIL not in each.body, each.url
        assert EVIL not in str(each.headers), each.url
        if "/swagger-ui/" in each.url:
            continue  # a library with addresses in its texts; it makes none of ours
        assert "http://" not in re.sub(r"http://www\.w3\.org/\S+", "", each.body), each.url
    described = [each for each in seen if each.url.endswith("/v1/openapi.json")]
    assert {json.loads(each.body)["servers"][0]["url"] for each in described} == {base_url}


@pytest.mark.parametrize("strips", [True, False])
@pytest.mark.parametrize("path", ["/authsite", "/v1", "/email", "/account", "/caf%C3%A9/a"])
def test_a_path_may_be_named_like_one_of_our_own(visit, path, strips):
    """Trial 6: whether a proxy has stripped the path is seen, not guessed."""
    base_url = f"https://example.com{path}"
    site, seen = visit(base_url, strips=strips)
    site.user()
    page = site.http.get(f"{base_url}/login", status=200)
    for link in {link for each in seen for link in each.addresses()}:
        assert link.startswith(f"{base_url}/"), link
        moves = "?lang=" in link or link.endswith("/login/passkey")  # a form of the login page
        expected = 303 if moves else 302 if link == f"{base_url}/" else 200
        assert site.http.get(link, status="*").status_int in (expected, 405), link
    form = {"csrf_token": page.forms[0]["csrf_token"].value}
    form |= {"username": "ann@example.com", "password": PASSWORD}
    answer = site.http.post(f"{base_url}/login", form, status=303)
    assert answer.headers["Location"] == f"{base_url}/account"
    assert "ann@example.com" in site.http.get(f"{base_url}/account", status=200).text
    site.http.get(f"{base_url}/v1/user", status=401)
    site.http.reset()  # WebTest cannot send a cookie there
    site.http.get(f"{base_url}/%ff", status=400)


def mounted(app, path):
    """``app`` below ``path`` as WSGI servers mount it: SCRIPT_NAME, and the rest in PATH_INFO."""

    def server(environ, start_response):
        assert environ["PATH_INFO"].startswith(f"{path}/")
        rest = environ["PATH_INFO"].removeprefix(path)
        return app(environ | {"SCRIPT_NAME": path, "PATH_INFO": rest}, start_response)

    return TestApp(server, extra_environ={"REMOTE_ADDR": "192.0.2.1"})


def check_mailed_links(site, http, public):
    """Our own pages are accepted for links, and the links work."""
    email = "bo@example.com"
    body = {
        "email": email,
        "password": "purple wolf 77 tea",
        "verification_url": f"{public}/email/verify",
    }
    http.post_json(f"{public}/v1/register", body, status=201)
    [mail] = site.mails()
    link = mails.link_in(mail)
    assert link.startswith(f"{public}/email/verify/")
    page = http.get(link, status=200)
    assert page.forms[0].action == f"{urlsplit(public).path}/email/verify"
    signed = page.forms[0]["url"].value
    assert signed.startswith(f"{public}/v1/email/verify/")
    http.get(signed, status=200)
    body = {"email": email, "reset_url": f"{public}/password/reset"}
    http.post_json(f"{public}/v1/password/forgot", body, status=202)
    link = mails.link_in(site.mails()[-1])
    assert link.startswith(f"{public}/password/reset/")
    http.get(link, status=200)
    answer = http.get(f"{public}/account", status=302)
    assert answer.headers["Location"].startswith(f"{public}/login?next=")


LOCAL = "http://localhost"


@pytest.mark.parametrize(
    ("prefix", "mount", "base_url"),
    [
        ("auth", "", None),
        ("auth", "", LOCAL),
        ("auth", "", f"{LOCAL}/auth"),
        ("auth", "/site", None),
        ("auth", "/site", LOCAL),
        ("auth", "/site", f"{LOCAL}/site"),
        ("auth", "/site", f"{LOCAL}/site/auth"),
        (None, "/site", None),
        (None, "/site", LOCAL),
        (None, "/site", f"{LOCAL}/site"),
    ],
)
def test_links_in_mails_open_in_an_including_application(
    host_with, tmp_path, prefix, mount, base_url
):
    """Trial 2: with every way to write base-url, the links have the mount and the prefix."""
    settings = {"mail_driver": "file", "mail_folder": str(tmp_path)}
    if base_url:
        settings["base_url"] = base_url
    site = host_with(lambda config: None, prefix=prefix, **settings)
    check_mailed_links(site, mounted(site.app, mount), f"{LOCAL}{mount}{site.prefix}")


@pytest.mark.parametrize("base_url", [None, LOCAL, f"{LOCAL}/site"])
def test_links_in_mails_open_in_a_mounted_service(site_with, base_url):
    """Trial 6: SCRIPT_NAME counts like the path of base-url."""
    site = site_with(base_url=base_url) if base_url else site_with()
    check_mailed_links(site, mounted(site.app, "/site"), f"{LOCAL}/site")


def guarded_page(config):
    config.add_route("billing", "/billing", guard="web")
    config.add_view(hello, route_name="billing")


def test_below_a_path_a_hosts_guarded_page_and_the_login_page_are_found(host_with):
    """Trial 6: included, the path of base-url is where the whole application stands."""
    site = host_with(guarded_page, prefix="auth", base_url="https://example.com/shop")
    answer = site.http.get("/billing?x=1", headers={"Host": EVIL}, status=302)
    expected = "https://example.com/shop/auth/login?next=/shop/billing%3Fx%3D1"
    assert answer.headers["Location"] == expected


def test_below_a_path_a_form_after_the_session_leads_back_to_its_page(host_with):
    """Trial 6: the page is looked for where the routes are, its link is the one people use."""
    site = host_with(lambda config: None, prefix="auth", base_url="https://example.com/shop")
    referer = {"Referer": "https://example.com/shop/auth/account"}
    answer = site.http.post("/auth/account/profile", {}, headers=referer, status=302)
    login = "https://example.com/shop/auth/login"
    assert answer.headers["Location"] == f"{login}?next=/shop/auth/account&unsaved=1"


SEVERAL = "https://a.example.org https://b.example.org/auth http://localhost:6543"


@pytest.mark.parametrize(
    ("host", "scheme", "expected"),
    [
        ("a.example.org", "http", "https://a.example.org"),  # behind TLS
        ("A.example.org:443", "https", "https://a.example.org"),
        ("b.example.org", "https", "https://b.example.org/auth"),
        ("localhost:6543", "http", "http://localhost:6543"),
        ("localhost", "http", "https://a.example.org"),
        ("b.example.org:8443", "https", "https://a.example.org"),
        (EVIL, "http", "https://a.example.org"),
    ],
)
def test_a_request_at_one_of_several_addresses_uses_that_one(site_with, host, scheme, expected):
    """H7: a Host that is none of ours gives the first, never itself."""
    site = site_with(base_url=SEVERAL)
    environ = {"wsgi.url_scheme": scheme}
    answer = site.http.get("/account", headers={"Host": host}, extra_environ=environ, status=302)
    assert answer.headers["Location"].startswith(f"{expected}/login?")
    secure = expected.startswith("https:")
    page = site.http.get("/login", headers={"Host": host}, extra_environ=environ)
    assert ("; secure" in page.headers["Set-Cookie"]) == secure
    assert ("Strict-Transport-Security" in page.headers) == secure


def test_of_two_addresses_at_one_host_the_path_decides(site_with):
    site = site_with(base_url="https://example.org/one https://example.org/two")
    for path in ("/one", "/two"):
        answer = site.http.get(f"{path}/account", headers={"Host": "example.org"}, status=302)
        assert answer.headers["Location"] == f"https://example.org{path}/login?next={path}/account"


def test_a_page_of_any_of_our_addresses_may_be_named_for_a_link(site_with):
    site = site_with(base_url=SEVERAL)
    site.user()
    for page in SEVERAL.split():
        body = {"email": "ann@example.com", "reset_url": f"{page}/password/reset"}
        site.http.post_json("/v1/password/forgot", body, status=202)
    body["reset_url"] = f"https://{EVIL}/password/reset"
    site.http.post_json("/v1/password/forgot", body, status=422)


def test_a_proxy_that_is_trusted_says_which_address_was_asked(site_with):
    site = site_with(base_url=SEVERAL, trusted_proxies="10.0.0.0/8")
    answer = site.http.get(
        "/account",
        headers={"X-Forwarded-Host": "b.example.org", "X-Forwarded-Proto": "https"},
        extra_environ={"REMOTE_ADDR": "10.0.0.1"},
        status=302,
    )
    assert answer.headers["Location"] == "https://b.example.org/auth/login?next=/auth/account"


# The request as it came: what may read it is address.py, and each of these for its own reason.
RAW = re.compile(
    r"request\.(host\w*|domain|scheme|url|path_url|application_url|script_name|path_qs|path"
    r"|relative_url|resource_url|resource_path|route_url|route_path|static_url|static_path"
    r"|current_route_url|current_route_path)\b"
    r"|HTTP_HOST|SERVER_NAME|wsgi\.url_scheme|SCRIPT_NAME|HTTPFound|HTTPSeeOther"
)
ALLOWED = {
    "platform/http/address.py": "the one home of the rule; checks the Host header",
    "guards/protected_resources.py": "compares the path with that of a resource",
    "server/asgi.py": "makes the WSGI environment",
    "platform/http/rendering.py": "redirects to absolute addresses",
    "platform/http/languages.py": "redirects to the same path without `lang`",
    "static/client/authsite.js": "`request` of the browser",
}


def test_nothing_else_reads_the_address_of_the_raw_request():
    """H6: the check that finds the next one. Templates and scripts are read too."""
    root = Path(authsite.__file__).parent
    files = [path for path in root.rglob("*") if path.suffix in {".py", ".jinja2", ".html", ".js"}]
    assert len(files) > 150
    found = {
        path.relative_to(root).as_posix()
        for path in files
        if RAW.search(path.read_text(encoding="utf-8"))
    }
    assert found == set(ALLOWED)
