"""oauthenticator in JupyterHub, as `authsite client add --for jupyterhub` configures it."""

from pathlib import Path

import pytest

from tests.support.servers import free_port

CONFIG = Path(__file__).parent / "apps/jupyterhub_config.py"


@pytest.fixture(scope="module", params=["sub", "email"])
def hub(request, place, environment):
    """``(url, claim)``: a hub whose users are known by this claim."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    programs = environment("jupyterhub")
    _, files = place.preset("jupyterhub", url, "--user-key", request.param)
    folder = place.folder / f"jupyterhub-{request.param}"
    folder.mkdir()
    (folder / "printed.py").write_text(files["jupyterhub_config.py"])
    variables = {"HUB_URL": url, "HUB_CONFIG": str(folder / "printed.py")}
    command = [programs / "jupyterhub", "--config", CONFIG]
    with place.process(command, port, folder=folder, log=f"{folder.name}.log", **variables):
        yield url, request.param


def test_a_person_signs_in_and_out(hub, person, place):
    url, claim = hub
    ann = person()
    ann.page.goto(f"{url}/hub/oauth_login")
    ann.sign_in()
    ann.allow()
    ann.at(f"{url}/hub/home")
    assert (ann.id if claim == "sub" else ann.email) in ann.text()

    ann.page.goto(f"{url}/hub/logout")
    ann.at(f"{place.issuer}/oauth/logout")
    ann.press("main form button")
    ann.page.wait_for_url(f"{url}/**")
    assert not ann.is_signed_in()
