"""registration, docs-page and app-page: what is off is a path that does not exist."""

import pytest

from tests.support.host import HostSite

GOOD = {"email": "bo@example.com", "password": "purple wolf 77 tea"}


@pytest.fixture
def closed(site_with):
    return site_with(registration="off", docs_page="off", app_page="off")


def test_nobody_can_register_where_registration_is_off(closed):
    closed.http.get("/register", status=404)
    assert closed.http.post("/register", {**GOOD, "csrf_token": "x"}, status=404)
    answer = closed.http.post_json("/v1/register", GOOD, status=404)
    assert answer.json["errors"][0]["code"] == "not_found"
    assert "/v1/register" not in closed.http.get("/v1/openapi.json").json["paths"]


@pytest.mark.parametrize("path", ["/", "/login", "/password/forgot", "/email/link", "/nope"])
def test_no_page_leads_to_a_registration_that_is_off(closed, path):
    page = closed.http.get(path, status="*").text
    assert "/register" not in page
    assert "Create an account" not in page


def test_an_administrator_still_creates_users(closed):
    closed.user()
    closed.login(closed.client())


def test_the_app_page_has_no_link_to_a_registration_that_is_off(site_with):
    assert "/register" not in site_with(registration="off").http.get("/app").text


def test_docs_and_app_are_no_paths_when_they_are_off(closed):
    closed.http.get("/docs", status=404)
    closed.http.get("/app", status=404)
    closed.http.get("/v1/openapi.json", status=200)


def test_a_host_may_have_pages_of_its_own_there(database_url):
    def build(config):
        for path in ("/register", "/docs", "/app"):
            config.add_route(path, path)
            config.add_view(lambda request: request.response, route_name=path)

    host = HostSite(database_url, build, registration="off", docs_page="off", app_page="off")
    for path in ("/register", "/docs", "/app"):
        host.http.get(path, status=200)
    host.database.dispose()
