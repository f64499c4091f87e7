"""oauthenticator in JupyterHub, as `authsite client add --for jupyterhub` configures it."""

from pathlib import Path

import pytest

CONFIG = Path(__file__).parent / "apps/jupyterhub_config.py"


@pytest.fixture(scope="module", params=["sub", "email"])
def hub(request, place, environment):
    """``(url, claim)``: a hub whose users are known by this claim."""
    programs = environment("jupyterhub")
    party = place.relying_party(f"jupyterhub-{request.param}")
    files = party.preset("jupyterhub", "--user-key", request.param)
    config = party.folder / "printed.py"
    config.write_text(files["jupyterhub_config.py"])
    variables = {"HUB_URL": party.url, "HUB_CONFIG": str(config)}
    command = [programs / "jupyterhub", "--config", CONFIG]
    with party.running(command, **variables):
        yield party.url, request.param


def test_a_person_signs_in_and_out(hub, person):
    url, claim = hub
    ann = person()
    ann.enter(f"{url}/hub/oauth_login", f"{url}/hub/home")
    assert (ann.id if claim == "sub" else ann.email) in ann.text()

    ann.page.goto(f"{url}/hub/logout")
    ann.confirm_logout()
    ann.page.wait_for_url(f"{url}/**")
    assert not ann.is_signed_in()
