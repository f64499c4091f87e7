"""Authlib in Flask, as `authsite client add --for flask` configures it."""

from pathlib import Path

import pytest

APP = Path(__file__).parent / "apps/flask_app.py"


@pytest.fixture(scope="module")
def url(place, environment):
    python = environment("flask") / "python"
    party = place.relying_party("flask")
    config = party.folder / "flask_config.py"
    config.write_text(party.preset("flask")["app.py"])
    with party.running([python, APP, config, party.port]):
        yield party.url


def test_a_person_signs_in_and_out(url, person):
    ann = person()
    ann.enter(f"{url}/sign-in", f"{url}/")
    assert f"user: {ann.id}" in ann.text()

    ann.page.get_by_role("button", name="Sign out").click()
    ann.confirm_logout()
    ann.at(f"{url}/")
    assert "user: None" in ann.text()
    assert not ann.is_signed_in()


def test_the_second_sign_in_asks_no_password(url, person):
    ann = person()
    ann.enter(f"{url}/sign-in", f"{url}/")
    ann.page.goto(f"{url}/sign-in")
    ann.allow()  # each time, since the answer goes to this computer (RFC 8252, section 8.6)
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
