"""mozilla-django-oidc, as `authsite client add --for django` configures it."""

import subprocess
from pathlib import Path

import pytest

from tests.support.installed import clean_environ

APPS = Path(__file__).parent / "apps"
SECRET = {"SECRET_KEY": "of a test", "DJANGO_SETTINGS_MODULE": "settings"}


@pytest.fixture(scope="module", params=["sub", "email"])
def project(request, place, environment):
    """``(url, claim)``: a project whose users are known by this claim."""
    programs = environment("django")
    party = place.relying_party(f"django-{request.param}")
    files, folder = party.preset("django", "--user-key", request.param), party.folder
    for name in ("settings", "urls"):
        text = (APPS / f"django_{name}.py").read_text()
        (folder / f"{name}.py").write_text(f"{text}\n{files[f'{name}.py']}")
    (folder / "authsite_login.py").write_text(files["authsite_login.py"])
    django = [programs / "python", "-m", "django"]
    variables = {**SECRET, "PYTHONPATH": str(folder)}
    environ = clean_environ(**variables)
    subprocess.run([*django, "migrate"], cwd=folder, env=environ, check=True, capture_output=True)
    command = [*django, "runserver", "--noreload", f"127.0.0.1:{party.port}"]
    with party.running(command, **variables):
        yield party.url, request.param


def test_a_person_signs_in_and_out(project, person):
    url, claim = project
    ann = person()
    ann.enter(f"{url}/oidc/authenticate/", f"{url}/")
    assert f"user: {ann.id if claim == 'sub' else ann.email}\n" in ann.text()
    assert ann.email in ann.text()

    ann.page.get_by_role("button", name="Sign out").click()
    ann.at(f"{url}/")  # the ID token says who leaves, so nothing is asked
    assert "user: AnonymousUser" in ann.text()
    assert not ann.is_signed_in()


def test_the_user_is_the_same_the_next_time(project, person):
    url, _ = project
    ann = person()
    for _ in range(2):
        ann.page.context.clear_cookies()
        ann.page.goto(f"{url}/oidc/authenticate/")
        ann.sign_in()
        if "/oauth/authorize" in ann.page.url:
            ann.allow()
        ann.at(f"{url}/")
        assert ann.email in ann.text()
