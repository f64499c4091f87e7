"""``authsite import`` in this process, on the database of the test's site."""

import json

import pytest
from click.testing import CliRunner

from authsite.cli import authsite
from tests.support import databases
from tests.support.in_process import write_ini

pytest_collectstart = databases.both


@pytest.fixture
def importing(site, tmp_path):
    """Run ``authsite import ARGUMENTS --json``; the answer with ``rows``, the lines of --report."""

    def run(*arguments, status=0, **settings):
        ini = write_ini(tmp_path / "site.ini", site.url, **settings)
        report = tmp_path / "report.jsonl"
        given = ["import", *map(str, arguments), "--config", ini, "--report", report, "--json"]
        done = CliRunner().invoke(authsite, list(map(str, given)), prog_name="authsite")
        assert done.exit_code == status, done.output
        if status:
            return done.stderr
        rows = [json.loads(line) for line in report.read_text().splitlines()]
        return {**json.loads(done.stdout.splitlines()[-1]), "rows": rows}

    return run
