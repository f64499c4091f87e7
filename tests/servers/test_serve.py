"""The server as its user starts it."""

from tests.support import databases
from tests.support.servers import serving, write_ini


def test_authsite_serve_answers(fresh_url, tmp_path):
    ini = write_ini(tmp_path, databases.migrated(fresh_url))
    with serving(ini, workers=2) as http:
        assert http.get("/v1/user").status_code == 401
