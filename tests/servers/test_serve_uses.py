"""A server process that is told to stop writes down what was used."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from authsite import clock
from authsite.oauth.models import Family
from tests.support import databases
from tests.support.servers import serving, write_ini
from tests.support.site import Site, bearer

pytestmark = pytest.mark.slow


def test_uses_are_written_when_the_server_stops(fresh_url, tmp_path):
    site = Site(databases.migrated(fresh_url))
    keys = site.client("personal")
    token = site.token(keys, grant_type="client_credentials").json["access_token"]
    before = clock.now() - timedelta(hours=2)
    with site.database.writer.begin() as connection:
        connection.execute(update(Family).values(rotated_at=before))
    with serving(write_ini(tmp_path, fresh_url)) as http:
        assert http.get("/v1/user", headers=bearer(token)).status_code == 403
    with site.database.reader.connect() as connection:
        assert connection.scalar(select(Family.used_at)) > before
    site.database.dispose()
