"""mod_auth_openidc, as `authsite client add --for apache` configures it, before an application."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.conftest import need
from tests.support.recipes import application

CONFIG = Path(__file__).parent / "apps/apache.conf"
MODULES = Path("/usr/lib/apache2/modules")
SYSTEM_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"


@pytest.fixture(scope="module")
def url(place):
    apache = shutil.which("apache2", path=SYSTEM_PATH)
    module = MODULES / "mod_auth_openidc.so"
    need(apache and module.exists(), "Apache with mod_auth_openidc (libapache2-mod-auth-openidc)")
    party = place.relying_party("apache")
    (party.folder / "authsite.conf").write_text(party.preset("apache")["authsite.conf"])
    main = party.folder / "apache.conf"
    # As root, Apache needs another user for its requests.
    user = "User www-data\nGroup www-data\n" if os.getuid() == 0 else ""
    main.write_text(CONFIG.read_text() + user)
    # The user of the requests cannot see a folder of pytest.
    with application() as behind, tempfile.TemporaryDirectory() as readable:
        authority = Path(shutil.copy(place.authority.path, readable))
        authority.chmod(0o644)
        Path(readable).chmod(0o755)
        variables = {
            "FOLDER": party.folder,
            "HOST": f"127.0.0.1:{party.port}",
            "PORT": party.port,
            "UPSTREAM": behind.server_port,
            "MODULES": MODULES,
            "AUTHORITY": authority,
        }
        command = [apache, "-DFOREGROUND", "-f", main]
        environ = {name: str(value) for name, value in variables.items()}
        with party.running(command, **environ):
            yield party.url


def test_a_person_signs_in_and_out(url, person, place):
    ann = person()
    ann.enter(f"{url}/reports", f"{url}/reports")
    headers = json.loads(ann.text())["headers"]
    assert headers["X-User"] == ann.id

    ann.page.goto(f"{url}/oidc/callback?logout={url}/")
    ann.page.wait_for_url(f"{place.issuer}/login*")  # back at /, which needs a sign-in
    assert not ann.is_signed_in()
