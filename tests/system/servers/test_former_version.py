"""The version before the newest migration still works after it, as during a deployment.

While there is one migration alone, a throw-away second one is the newest, and the version before it
is this one.
"""

import io
import os
import subprocess
import sys
import tarfile

import pytest

from authsite.platform.db import migrate, open_database
from tests.support import newer
from tests.support.commands import CHECKOUT
from tests.support.servers import authsite, serving, write_ini
from tests.support.site import PASSWORD, Site, bearer

pytestmark = [pytest.mark.slow, pytest.mark.both_databases(each_value=True)]


def run(code, *arguments, ini):
    """A command of the version in the folder ``code``."""
    command = [sys.executable, "-m", "authsite", *arguments, "--config", str(ini)]
    return subprocess.run(
        command, env={**os.environ, **own_code(code)}, capture_output=True, text=True
    )


def own_code(folder):
    """The environment of a process with the code in ``folder``, and not that of the checkout."""
    return {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}


def before(revision, folder):
    """The code as it was before the migration ``revision`` was added."""

    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=CHECKOUT, capture_output=True).stdout

    pattern = f"migrations/versions/{revision}_*.py"
    added = git("log", "--diff-filter=A", "--format=%H", "-1", "--", pattern).decode().strip()
    archive = added and git("archive", f"{added}^", "authsite", "migrations")
    if not archive:
        pytest.skip(f"no git history in which the migration {revision} was added")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    compile_catalogues = ["-m", "babel.messages.frontend", "-q", "compile", "-D", "authsite"]
    command = [sys.executable, *compile_catalogues, "-d", folder / "authsite/locale"]
    subprocess.run(command, check=True)  # they are not in the repository
    return folder


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """The folders of the version before the newest migration, and of one that has it."""
    folder, (*earlier, newest) = tmp_path_factory.mktemp("version"), newer.steps()
    if earlier:
        return before(newest.revision, folder), CHECKOUT
    return CHECKOUT, newer.version(folder)


def test_the_former_version_works_with_the_schema_of_the_next(versions, fresh_url, tmp_path):
    former, later = versions
    ini = write_ini(tmp_path, fresh_url)
    assert run(former, "db", "upgrade", ini=ini).returncode == 0
    done = run(later, "db", "upgrade", ini=ini)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Restart every process with the new version" in done.stdout
    site = Site(fresh_url)
    keys = site.client("password")
    site.database.dispose()
    for code in (former, later):
        with serving(ini, **own_code(code)) as server:
            wrong = [each for each in smoke(server, keys, code.name) if each[1] != each[2]]
            assert server.get("/readyz").status_code == 200
        assert wrong == []
        assert "internal_error" not in server.log.read_text()
    for reading in ("list", "verify"):  # the events that the newer version has recorded
        done = run(former, "audit", reading, ini=ini)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_version_that_knows_no_second_migration_says_so_and_finishes_the_upgrade(
    fresh_url, tmp_path
):
    database, ini = open_database(fresh_url), write_ini(tmp_path, fresh_url)
    migrate.upgrade(database)
    with newer.known(tmp_path):
        migrate.upgrade(database)
    done = authsite("db", "upgrade", ini=ini)
    assert (
        f"{newer.REVISION}, newer than this version of authsite ({migrate.head()})" in done.stdout
    )
    assert migrate.former_revision(database) == migrate.head()
    done = authsite("db", "upgrade", "--finish", ini=ini)
    assert (done.returncode, "finished" in done.stdout) == (0, True)
    assert migrate.former_revision(database) is None
    database.dispose()


def smoke(server, keys, name):
    """What each client does: the call, its status, and the one that it must have."""
    email = f"{name}@example.com"

    def token(**form):
        return server.post("/v1/oauth/token", data=keys.form(**form))

    body = {"email": email, "password": PASSWORD}
    yield "register", server.post("/v1/register", json=body).status_code, 201
    login = token(grant_type="password", username=email, password=PASSWORD)
    yield "login", login.status_code, 200
    headers = bearer(login.json()["access_token"])
    yield "guard", server.get("/v1/user", headers=headers).status_code, 200
    refreshed = token(grant_type="refresh_token", refresh_token=login.json()["refresh_token"])
    yield "refresh", refreshed.status_code, 200
    reset = {"email": email, "reset_url": f"{server.base_url}/password/reset"}
    yield "forgot", server.post("/v1/password/forgot", json=reset).status_code, 202
    yield "page", server.get("/login").status_code, 200
    headers = bearer(refreshed.json()["access_token"])
    yield "logout", server.delete("/v1/logout", headers=headers).status_code, 200
    yield "guard afterwards", server.get("/v1/user", headers=headers).status_code, 401
