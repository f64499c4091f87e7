"""mozilla-django-oidc, as `authsite client add --for django` configures it."""

import subprocess
from pathlib import Path

import pytest

from tests.support.installed import clean_environ
from tests.support.servers import free_port

APPS = Path(__file__).parent / "apps"
SECRET = {"SECRET_KEY": "of a test", "DJANGO_SETTINGS_MODULE": "settings"}


@pytest.fixture(scope="module", params=["sub", "email"])
def project(request, place, environment):
    """``(url, claim)``: a project whose users are known by this claim."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    programs = environment("django")
    _, files = place.preset("django", url, "--user-key", request.param)
    folder = place.folder / f"django-{request.param}"
    folder.mkdir()
    for name in ("settings", "urls"):
        text = (APPS / f"django_{name}.py").read_text()
        (folder / f"{name}.py").write_text(f"{text}\n{files[f'{name}.py']}")
    (folder / "authsite_login.py").write_text(files["authsite_login.py"])
    django = [programs / "python", "-m", "django"]
    environ = clean_environ(**SECRET, PYTHONPATH=str(folder))
    subprocess.run([*django, "migrate"], cwd=folder, env=environ, check=True, capture_output=True)
    command = [*django, "runserver", "--noreload", f"127.0.0.1:{port}"]
    with place.process(
        command, port, folder=folder, log=f"{folder.name}.log", **SECRET, PYTHONPATH=str(folder)
    ):
        yield url, request.param


def test_a_person_signs_in_and_out(project, person):
    url, claim = project
    ann = person()
    ann.page.goto(f"{url}/oidc/authenticate/")
    ann.sign_in()
    ann.allow()
    ann.at(f"{url}/")
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
