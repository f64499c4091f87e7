"""Authlib in Flask, as `authsite client add --for flask` configures it."""

from pathlib import Path

import pytest

from tests.support.servers import free_port

APP = Path(__file__).parent / "apps/flask_app.py"


@pytest.fixture(scope="module")
def url(place, environment):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    python = environment("flask") / "python"
    _, files = place.preset("flask", url)
    config = place.folder / "flask_config.py"
    config.write_text(files["app.py"])
    with place.process([python, APP, config, port], port, log="flask.log"):
        yield url


def test_a_person_signs_in_and_out(url, person, place):
    ann = person()
    ann.page.goto(f"{url}/sign-in")
    ann.sign_in()
    ann.allow()
    ann.at(f"{url}/")
    assert f"user: {ann.id}" in ann.text()

    ann.page.get_by_role("button", name="Sign out").click()
    ann.at(f"{place.issuer}/oauth/logout")
    ann.press("main form button")
    ann.at(f"{url}/")
    assert "user: None" in ann.text()
    assert not ann.is_signed_in()


def test_the_second_sign_in_asks_nothing(url, person):
    ann = person()
    ann.page.goto(f"{url}/sign-in")
    ann.sign_in()
    ann.allow()
    ann.at(f"{url}/")
    ann.page.goto(f"{url}/sign-in")
    ann.at(f"{url}/")
    assert ann.id in ann.text()


def test_a_person_who_says_no_is_not_signed_in(url, person):
    ann = person()
    ann.page.goto(f"{url}/sign-in")
    ann.sign_in()
    ann.deny()
    ann.at(f"{url}/signed-in")
    assert "error=access_denied" in ann.page.url
    ann.page.goto(url)
    assert "user: None" in ann.text()
