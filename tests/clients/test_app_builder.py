"""Flask-AppBuilder, as `authsite client add` configures it for Superset and Airflow."""

import json
from pathlib import Path

import pytest

APP = Path(__file__).parent / "apps/app_builder.py"
CONFIGS = {
    "superset": ("superset_config.py", "Gamma"),
    "airflow": ("webserver_config.py", "Viewer"),
}


@pytest.fixture(scope="module", params=CONFIGS)
def url(request, place, environment):
    name = request.param
    file, role = CONFIGS[name]
    python = environment("appbuilder") / "python"
    party = place.relying_party(name)
    config = party.folder / file
    config.write_text(party.preset(name)[file])
    with party.running([python, APP, config, party.port, role]):
        yield party.url


def test_a_person_gets_an_account_and_signs_in_and_out(url, person):
    ann = person()
    ann.enter(f"{url}/login/authsite", f"{url}/")
    ann.page.goto(f"{url}/who")
    assert json.loads(ann.text()) == {"username": ann.id, "email": ann.email}
    ann.page.goto(f"{url}/logout/")
    ann.page.goto(f"{url}/who")
    assert json.loads(ann.text()) == {"username": None}
