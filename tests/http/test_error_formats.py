"""The format of an error: that of its route, or of the routes above or beside its path."""

import pytest
from pyramid.exceptions import ConfigurationError

from authsite.platform.http.errors import NotFound
from tests.support.error_bodies import NOTHING_HERE, json_error, no_store, oauth


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/nothing", json_error("not_found", NOTHING_HERE)),
        ("/v1/", json_error("not_found", NOTHING_HERE)),
        ("/v1", json_error("not_found", NOTHING_HERE)),
        ("/v1/oauth/nothing", oauth("not_found", NOTHING_HERE)),
        ("/v1/clients/web/nothing", oauth("not_found", NOTHING_HERE)),
    ],
)
def test_an_unknown_path_is_404_in_the_error_format_of_its_part(site, path, body):
    assert no_store(site.http.get(path, status=404)).json == body


def test_the_errors_of_a_route_have_the_format_that_it_states(host_with):
    def build(config):
        for errors in ("json", "oauth"):
            config.add_route(f"authsite.{errors}", f"/things/{errors}/{{id}}", errors=errors)
            config.add_view(fail, route_name=f"authsite.{errors}", request_method="POST")

    def fail(request):
        raise NotFound

    host = host_with(build)
    for errors, made in (("json", json_error), ("oauth", oauth)):
        path = f"/things/{errors}/1"
        answer = host.http.post(path, status=404)  # of the view
        assert answer.json == made("not_found", NOTHING_HERE)
        assert host.http.get(path, status=405).json == made(
            "method_not_allowed", "This endpoint accepts only POST."
        )


def test_a_format_that_does_not_exist_stops_the_start(host_with):
    with pytest.raises(ConfigurationError, match="errors='xml'"):
        host_with(lambda config: config.add_route("x", "/x", errors="xml"))


def test_an_unknown_path_outside_the_api_is_404_with_a_page(site):
    for accept in ("*/*", "application/json"):
        answer = site.http.get("/nothing", headers={"Accept": accept}, status=404)
        assert answer.headers["Content-Type"].startswith("text/html")
