"""The thread that writes down what was used: where it runs, and that it ends in order."""

import subprocess
import sys
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from authsite.oauth.models import Family
from authsite.platform.runtime import clock
from tests.support import databases
from tests.support.servers import serving, write_ini
from tests.support.site import SECRET, Site, bearer

pytestmark = pytest.mark.slow

HOST = """
import sys
from pyramid.config import Configurator
config = Configurator(settings=dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True)))
config.include("authsite")
registry = config.make_wsgi_app().registry
print(registry["authsite"].last_used.wake is not None)
"""


def test_uses_are_written_when_the_server_stops(fresh_url, tmp_path):
    site = Site(databases.migrated(fresh_url))
    keys = site.client("personal")
    token = site.token(keys, grant_type="client_credentials").json["access_token"]
    before = clock.now() - timedelta(hours=2)
    with site.database.transactional.begin() as connection:
        connection.execute(update(Family).values(rotated_at=before))
    with serving(write_ini(tmp_path, fresh_url)) as http:
        assert http.get("/v1/user", headers=bearer(token)).status_code == 403
    with site.database.autocommit.connect() as connection:
        assert connection.scalar(select(Family.used_at)) > before
    site.database.dispose()


@pytest.mark.parametrize(("sender", "threads"), [("thread", "True"), ("none", "False")])
def test_a_host_has_the_thread_where_it_has_the_mail_thread(fresh_url, sender, threads):
    settings = {"secret": SECRET, "database-url": fresh_url, "mail-sender": sender}
    words = [word for key, value in settings.items() for word in (f"authsite.{key}", value)]
    done = subprocess.run(
        [sys.executable, "-c", HOST, *words], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == f"{threads}\n", done.stderr
