"""docs/guards.md: every block of code runs, and every path of ours is named (trial 19)."""

import re
from pathlib import Path

import pytest
from cornice import Service
from pyramid.exceptions import ConfigurationError

from tests.support.host import HostSite
from tests.support.pages import sign_in
from tests.support.site import SECRET, bearer

TEXT = (Path(__file__).parents[2] / "docs/guards.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
PYTHON = [code for language, code in BLOCKS if language == "python"]
PATHS = next(code for language, code in BLOCKS if language == "text" and "/login" in code).split()


@pytest.fixture(scope="module")
def documented():
    """What the blocks define, run one after the other as one module."""
    names = {}
    exec("\n".join(PYTHON), names)  # noqa: S102  our own documentation
    return names


def test_trial_19_the_blocks_of_code_run(documented):
    assert {"main", "reports", "billing", "with_cornice"} <= documented.keys()


def test_trial_19_the_tests_shown_pass(documented, tmp_path):
    shown = {name: value for name, value in documented.items() if name.startswith("test_")}
    assert len(shown) == 2
    for test in shown.values():
        test(*([tmp_path] if test.__code__.co_argcount else []))


def test_trial_19_the_application_shown_guards_its_api(documented, database_url):
    from webtest import TestApp

    settings = {"authsite.secret": SECRET, "authsite.database-url": database_url}
    app = documented["main"]({}, **settings)
    TestApp(app).get("/v1/reports", status=401)
    app.registry["authsite"].database.dispose()


def test_f14_a_service_of_cornice_is_guarded_by_the_route_that_it_names(documented, host_with):
    site = host_with(documented["with_cornice"])
    ann = site.user()
    site.http.get("/v1/own-reports", status=401)
    keys = site.client(scope="reports:read")
    plain = site.login(keys)["access_token"]
    site.http.get("/v1/own-reports", headers=bearer(plain), status=403)
    token = site.login(keys, scope="reports:read")["access_token"]
    answer = site.http.get("/v1/own-reports", headers=bearer(token))
    assert answer.json == {"for": str(ann.id)}


def test_f14_a_guard_that_is_given_to_the_service_stops_the_start(host_with):
    def build(config):
        config.include("cornice")
        service = Service(name="own", path="/v1/own", guard="api")
        service.add_view("GET", lambda request: {})
        config.add_cornice_service(service)

    with pytest.raises(ConfigurationError, match="Unknown view options"):
        host_with(build)


def test_f9_the_public_page_shown_knows_who_is_signed_in(documented, host_with):
    site = host_with(documented["build_home"])
    ann = site.user()
    assert site.http.get("/").text == "Please sign in"
    sign_in(site)
    assert site.http.get("/").text == f"Signed in as {ann.id}"


@pytest.mark.parametrize("variant", ["A", "B"])
def test_trial_19_every_path_of_ours_is_named(database_url, variant):
    site = HostSite(database_url, lambda config: None, variant=variant)
    patterns = {
        route.pattern
        for route in site.app.routes_mapper.get_routes()
        if route.name.startswith("authsite.")
    }
    exact = {path for path in PATHS if not path.endswith("…")}
    below = tuple(path.removesuffix("…") for path in PATHS if path.endswith("…"))
    unnamed = {p for p in patterns if p.rstrip("/") not in exact and not p.startswith(below)}
    assert unnamed == set()
    site.database.dispose()


def test_trial_19_the_route_names_shown_exist(database_url):
    site = HostSite(database_url, lambda config: None)
    routes = {route.name for route in site.app.routes_mapper.get_routes(include_static=True)}
    links = TEXT[TEXT.index("## Links") : TEXT.index("## Testing")]
    assert set(re.findall(r"`(authsite\.[a-z.]+)`", links)) <= routes
    site.database.dispose()
