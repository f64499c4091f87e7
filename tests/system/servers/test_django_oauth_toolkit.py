"""django-oauth-toolkit as a resource server, which looks its users up by ``username`` (F1)."""

import json
import subprocess
import sys

import pytest

from tests.support import databases
from tests.support.django_resource import CEO
from tests.support.installed import CHECKOUT
from tests.support.servers import serving, write_ini
from tests.support.site import Site

pytestmark = pytest.mark.slow


def test_f1_a_stranger_who_registered_the_address_of_a_superuser_is_nobody(tmp_path):
    url = databases.migrated(databases.new_url("sqlite", tmp_path, "toolkit"))
    site = Site(url)
    resource = site.client("resource-server")
    keys = site.client()
    site.user(CEO)
    site.user("ann@example.com", confirmed=True)
    tokens = [site.login(keys, email)["access_token"] for email in (CEO, "ann@example.com")]
    with serving(write_ini(tmp_path, url)) as http:
        base = str(http.base_url)
        finished = subprocess.run(
            [
                *(sys.executable, "-m", "tests.support.django_resource", base),
                *(resource.client_id, resource.client_secret),
            ],
            input="\n".join([*tokens, "at_x"]), cwd=CHECKOUT, capture_output=True, text=True,
            timeout=120, check=True,
        )  # fmt: skip
    site.database.dispose()
    stranger, ann, nothing = map(json.loads, finished.stdout.splitlines())
    assert stranger == {"token": True, "user": None, "superuser": False}
    assert ann == {"token": True, "user": "ann@example.com", "superuser": False}
    assert nothing == {"token": False, "user": None, "superuser": False}
