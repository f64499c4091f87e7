"""No page of another origin has a use for the administrators' API."""

import pytest

from tests.support import administrators

APP = "https://app.example"


@pytest.fixture
def site(site_with):
    return site_with(**administrators.SETTINGS, cors_origins=APP)


def of_cors(answer):
    return {name for name in answer.headers if name.startswith("Access-Control-")}


def test_no_route_of_it_answers_a_listed_origin(site):
    routes = site.app.routes_mapper.get_routes()
    paths = [each.pattern for each in routes if each.name.startswith("authsite.admin.api.")]
    assert len(paths) > 40
    for pattern in paths:
        path = pattern.replace("{", "").replace("}", "")
        headers = {"Origin": APP, "Access-Control-Request-Method": "GET"}
        preflight = site.http.options(path, headers=headers, status=405)
        got = site.http.get(path, headers={"Origin": APP}, status="*")
        assert of_cors(preflight) | of_cors(got) == set(), pattern
        assert got.headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_the_own_user_still_answers_it(site):
    answer = site.http.get("/v1/user", headers={"Origin": APP}, status=401)
    assert answer.headers["Access-Control-Allow-Origin"] == APP
