"""docs/guards.md: every block of code runs, and every path of ours is named (trial 19)."""

import re
from pathlib import Path

import pytest

from tests.support.host import HostSite
from tests.support.site import SECRET

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
    assert {"main", "reports", "billing"} <= documented.keys()


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
