"""Flask-AppBuilder, as `authsite client add` configures it for Superset and Airflow."""

import json
from pathlib import Path

import pytest

from tests.support.servers import free_port

APP = Path(__file__).parent / "apps/app_builder.py"
CONFIGS = {
    "superset": ("superset_config.py", "Gamma"),
    "airflow": ("webserver_config.py", "Viewer"),
}


@pytest.fixture(scope="module", params=CONFIGS)
def url(request, place, environment):
    name = request.param
    file, role = CONFIGS[name]
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    python = environment("appbuilder") / "python"
    _, files = place.preset(name, url)
    folder = place.folder / name
    folder.mkdir()
    (folder / file).write_text(files[file])
    command = [python, APP, folder / file, port, role]
    with place.process(command, port, folder=folder, log=f"{name}.log"):
        yield url


def test_a_person_gets_an_account_and_signs_in_and_out(url, person):
    ann = person()
    ann.page.goto(f"{url}/login/authsite")
    ann.sign_in()
    ann.allow()
    ann.at(f"{url}/")
    ann.page.goto(f"{url}/who")
    assert json.loads(ann.text()) == {"username": ann.id, "email": ann.email}
    ann.page.goto(f"{url}/logout/")
    ann.page.goto(f"{url}/who")
    assert json.loads(ann.text()) == {"username": None}
