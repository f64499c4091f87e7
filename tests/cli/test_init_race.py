"""``authsite init`` while another machine begins to serve with the same new database."""

import threading

import pytest
from click.testing import CliRunner

from authsite.cli import authsite
from authsite.platform.db import open_database
from authsite.platform.installation.fingerprints import SEALING_KEY, record
from authsite.platform.settings import Secret, new_sealing_key
from tests.support import databases
from tests.support.in_process import write_ini
from tests.support.locks import until_blocked


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_the_slower_of_two_with_different_sealing_keys_says_what_to_do(
    backend, tmp_path, monkeypatch
):
    monkeypatch.delenv("AUTHSITE_ENV_FILE", raising=False)
    url = databases.migrated(databases.new_url(backend, tmp_path, "race"))
    ini, ended = write_ini(tmp_path / "site.ini", url), []

    def init():
        ended.append(CliRunner().invoke(authsite, ["init", "--config", ini]))

    database = open_database(url)
    try:
        with database.transactional.begin() as other:
            record(other, SEALING_KEY, Secret(new_sealing_key()))
            with until_blocked(database):
                slower = threading.Thread(target=init)
                slower.start()
        slower.join(30)
    finally:
        database.dispose()
    [done] = ended
    assert done.exit_code == 1
    assert done.output.startswith("Error: the database knows another sealing key"), done.exception
    assert "copy it from the environment file of a machine that serves" in done.output
    assert not list(tmp_path.glob("**/authsite.env"))  # so nothing of the other key stays here
