"""The setting `login-page-url`: what it may name, and where it leads."""

import pytest

from authsite.platform.settings import SettingsError
from tests.support.host import hello, route


@pytest.mark.parametrize("name", ["signin", "report", "auth/login", "/reports.html/x"])
def test_trial_15_a_login_page_that_is_neither_a_route_nor_a_view_stops_the_start(host_with, name):
    wrong = (
        rf"authsite\.login-page-url = '{name.strip('/')}': no route has this name or path, and no"
    )
    with pytest.raises(SettingsError, match=wrong):
        host_with(route("/reports.html"), login_page_url=name)


@pytest.mark.parametrize("prefix", [None, "auth"])
@pytest.mark.parametrize(
    ("name", "location"),
    [
        ("login", "/login"),
        ("register", "/register"),
        ("authsite.login.page", "/login"),
        ("enter", "/way-in"),
        ("signin", "/signin"),
        ("/way-in", "/way-in"),
        ("way-in", "/way-in"),
        ("https://login.example.org/", "https://login.example.org/"),
    ],
)
def test_trial_15_a_route_a_view_or_an_address_is_taken(host_with, prefix, name, location):
    def build(config):
        route("/billing", guard="web")(config)
        config.add_route("enter", "/way-in")
        config.add_view(hello, name="signin")

    site = host_with(build, prefix=prefix, login_page_url=name)
    answer = site.http.get("/billing", status=302)
    ours = location in ("/login", "/register")
    wanted = f"/{prefix}{location}" if prefix and ours else location
    assert answer.headers["Location"].split("?")[0].removeprefix("http://localhost") == wanted
