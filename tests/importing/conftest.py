"""``authsite import`` in this process, on the database of the test's site."""

import json

import pytest
from click.testing import CliRunner

from authsite.cli import authsite
from tests.support.site import SECRET


def write_ini(path, url, **settings):
    """An ini for commands on the database ``url``."""
    given = {"secret": SECRET, "database-url": url, "bcrypt-cost": "10", **settings}
    lines = [f"authsite.{key} = {value}" for key, value in given.items()]
    path.write_text("[app:main]\n" + "\n".join(lines).replace("%", "%%") + "\n")
    return str(path)


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
