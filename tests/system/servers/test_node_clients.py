"""OAuth clients of Node.js against a running server; the scripts are in ``tests/system/node``.

`npm ci --prefix tests/system/node` installs them. The issuer has a path, since that is where the
addresses of the metadata differ (RFC 8414, section 3.1).
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import need
from tests.support import databases
from tests.support.servers import serving, write_ini
from tests.support.site import PASSWORD, Site

FOLDER = Path(__file__).parent.parent / "node"
LIBRARIES = ("oauth4webapi", "openid-client", "simple-oauth2")
NODE = shutil.which("node")


@pytest.fixture(scope="module")
def installed():
    """Skip without Node.js and the libraries."""
    found = NODE and all((FOLDER / "node_modules" / name).is_dir() for name in LIBRARIES)
    need(found, "Node.js with the clients of tests/system/node (npm ci --prefix tests/system/node)")


@pytest.fixture(scope="module")
def server(installed, backend, tmp_path_factory):
    """What the scripts need to know of a running server with a user and three clients."""
    folder = tmp_path_factory.mktemp("node")
    url = databases.migrated(databases.new_url(backend, folder, folder.name))
    site = Site(url)
    user = site.user(confirmed=True)
    address = {"AUTHSITE_BASE_URL": "http://127.0.0.1:{port}/auth"}
    with serving(write_ini(folder, url, scopes="notes:read: Read notes"), **address) as http:
        yield {
            "issuer": f"{str(http.base_url).rstrip('/')}/auth",
            "web": keys(site.client("password", scope="notes:read")),
            "machine": keys(site.client("personal", scope="notes:read")),
            "resource": keys(site.client("resource-server")),
            "user": {"username": user.email, "password": PASSWORD},
            "user_id": str(user.id),
        }
    site.database.dispose()


def keys(client):
    return {"id": client.client_id, "secret": client.client_secret}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_client_gets_refreshes_introspects_and_revokes_tokens(server, library):
    report = reported(library, server)
    assert report["issuer"] == server["issuer"]
    assert report["tokenEndpoint"] == f"{server['issuer']}/v1/oauth/token"
    assert report["email"] == server["user"]["username"]
    own, before = report["own"], report["before"]
    assert (own["active"], own["token_type"], own["scope"]) == (True, "N_A", "notes:read")
    assert (before["active"], before["token_type"]) == (True, "Bearer")
    assert before["scope"] == "notes:read"
    assert before["sub"] == own["sub"] == server["user_id"]
    assert before["username"] == server["user"]["username"]
    assert before["client_id"] == server["web"]["id"]
    assert report["after"] == {"active": False}
    assert report["challenge"] == "invalid_token"
    assert report["machine"] == "client"
    assert report.get("expired", False) is False
    assert report["wrongPassword"] == "invalid_grant"
    assert report["wrongScope"] == "invalid_scope"
    assert report["wrongSecret"] == "invalid_client"


def reported(library, server):
    """What the script of a library prints."""
    done = subprocess.run(
        [NODE, f"{library}.mjs"],
        cwd=FOLDER,
        env={"PATH": os.environ["PATH"], "AUTHSITE_SITE": json.dumps(server)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_lock_file_names_no_other_registry_and_no_path_of_a_machine():
    lock = json.loads((FOLDER / "package-lock.json").read_text())
    packages = [each for path, each in lock["packages"].items() if path]
    assert len(packages) >= len(LIBRARIES)
    for each in packages:
        assert each.get("resolved", "https://registry.npmjs.org/").startswith(
            "https://registry.npmjs.org/"
        )
        assert re.match(r"sha512-", each["integrity"])
        assert "link" not in each
