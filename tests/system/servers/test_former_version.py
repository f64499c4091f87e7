"""The version before the newest migration still works after it, as during a deployment."""

import io
import os
import subprocess
import sys
import tarfile

import pytest

from authsite.platform.audit.events import FORMER_NAMES
from authsite.platform.audit.service import record
from authsite.platform.db import migrate
from tests.support import databases, personal
from tests.support.acting import acting
from tests.support.commands import CHECKOUT
from tests.support.servers import serving, write_ini
from tests.support.site import PASSWORD, Site, bearer

pytestmark = [pytest.mark.slow, pytest.mark.both_databases(each_value=True)]
EMAIL = "bo@example.com"


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=CHECKOUT, capture_output=True)
    return done.stdout if done.returncode == 0 else b""


@pytest.fixture(scope="module")
def former(tmp_path_factory):
    """The code as it was before the newest migration was added."""
    pattern = f"migrations/versions/{migrate.head()}_*.py"
    added = git("log", "--diff-filter=A", "--format=%H", "-1", "--", pattern).decode().strip()
    archive = added and git("archive", f"{added}^", "authsite", "migrations")
    if not archive:
        pytest.skip("no git history in which the newest migration was added")
    folder = tmp_path_factory.mktemp("former")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    compile_catalogues = ["-m", "babel.messages.frontend", "-q", "compile", "-D", "authsite"]
    command = [sys.executable, *compile_catalogues, "-d", folder / "authsite/locale"]
    subprocess.run(command, check=True)  # they are not in the repository
    return folder


def test_the_former_version_works_with_the_schema_of_this_one(former, fresh_url, tmp_path):
    site = Site(databases.migrated(fresh_url))
    keys = site.client("password")
    with site.db() as db:
        for event in FORMER_NAMES:
            record(acting(db), event)
    site.database.dispose()
    ini = write_ini(tmp_path, fresh_url)
    # Its own code, and not that of the working folder.
    own_code = {"PYTHONPATH": str(former), "PYTHONSAFEPATH": "1"}
    with serving(ini, **own_code) as server:
        wrong = [each for each in smoke(server, keys) if each[1] != each[2]]
    assert wrong == []
    for reading in ("list", "verify"):  # the events that this version has recorded
        command = [sys.executable, "-m", "authsite", "audit", reading, "--config", str(ini)]
        done = subprocess.run(command, env={**os.environ, **own_code}, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
    assert "internal_error" not in server.log.read_text()
    assert (former / "authsite").is_dir()
    assert not list((former / "migrations" / "versions").glob(f"{migrate.head()}_*"))


def test_a_personal_access_token_of_one_version_works_and_ends_at_the_other(
    former, fresh_url, tmp_path
):
    site = Site(databases.upgraded(fresh_url))
    site.user()
    login = site.login(site.client())["access_token"]
    here = personal.created(site, login)
    with serving(
        write_ini(tmp_path, fresh_url), PYTHONPATH=str(former), PYTHONSAFEPATH="1"
    ) as other:

        def status(token):
            return other.get("/v1/user", headers=bearer(token)).status_code

        body = {"name": "there", "current_password": PASSWORD}
        there = other.post(personal.PATH, json=body, headers=bearer(login)).json()
        site.me(there["token"])
        assert status(here) == 200
        other.delete(f"{personal.PATH}/{there['id']}", headers=bearer(login))
        site.me(there["token"], status=401)
        personal.revoke(site, login, personal.listed(site, login)[0]["id"])
        assert status(here) == 401
    site.database.dispose()


def smoke(server, keys):
    """What each client does: the call, its status, and the one that it must have."""

    def token(**form):
        return server.post("/v1/oauth/token", data=keys.form(**form))

    body = {"email": EMAIL, "password": PASSWORD}
    yield "register", server.post("/v1/register", json=body).status_code, 201
    login = token(grant_type="password", username=EMAIL, password=PASSWORD)
    yield "login", login.status_code, 200
    headers = bearer(login.json()["access_token"])
    yield "guard", server.get("/v1/user", headers=headers).status_code, 200
    refreshed = token(grant_type="refresh_token", refresh_token=login.json()["refresh_token"])
    yield "refresh", refreshed.status_code, 200
    reset = {"email": EMAIL, "reset_url": f"{server.base_url}/password/reset"}
    yield "forgot", server.post("/v1/password/forgot", json=reset).status_code, 202
    yield "page", server.get("/login").status_code, 200
    headers = bearer(refreshed.json()["access_token"])
    yield "logout", server.delete("/v1/logout", headers=headers).status_code, 200
    yield "guard afterwards", server.get("/v1/user", headers=headers).status_code, 401
