"""docs/backup.md: a dump of PostgreSQL is restored as written, also beside an open connection."""

import os
import re
import subprocess
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from tests.support import databases, guides
from tests.support.servers import write_ini
from tests.support.site import Site

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("backend", ["postgresql"], indirect=True),
]

# What the page has of a machine is not here: systemd, the user postgres, the folder of the service.
RUNUSER = '#!/bin/sh\nshift 3\nexec "$@"\n'


@pytest.fixture
def shop(fresh_url, tmp_path):
    """A site with a user on a database, its folder, and a shell for the commands of the page."""
    return Shop(fresh_url, tmp_path)


class Shop:
    def __init__(self, url, folder):
        self.site = Site(databases.migrated(url))
        self.site.user("ann@example.com")
        parts = urlsplit(self.site.url.replace("+psycopg", ""))
        self.name = parts.path[1:]
        self.folder, self.host = folder, parse_qs(parts.query)["host"][0]
        write_ini(folder, self.site.url)
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        for name, text in {"runuser": RUNUSER, "systemctl": "#!/bin/sh\n"}.items():
            (bin_folder / name).write_text(text)
            (bin_folder / name).chmod(0o755)
        self.path = f"{bin_folder}:{self.programs()}:{os.environ['PATH']}"

    def programs(self):
        """The folder with the programs of the server's version."""
        with psycopg.connect(f"postgresql://postgres@/{self.name}?host={self.host}") as db:
            query = "SELECT setting FROM pg_config WHERE name = 'BINDIR'"
            return db.execute(query).fetchone()[0]

    def run(self, block):
        ini = next(self.folder.glob("*.ini"))
        executable = guides.CHECKOUT / ".venv/bin/authsite"
        command = re.sub(r"(?<![/\w-])authsite(?=_former|\b)(?! db)", self.name, block)
        for here, there in {
            "cd /srv/authsite": f"cd {self.folder}",
            f"systemctl start {self.name}": "true",
            f"-u {self.name}": "-u service",
            "--owner=" + self.name: "--owner=postgres",
            "venv/bin/authsite": str(executable),
            "production.ini": str(ini),
            f"/var/backups/{self.name}.dump": str(self.folder / "a.dump"),
            "/var/backups/authsite.dump": str(self.folder / "a.dump"),
        }.items():
            command = command.replace(here, there)
        environment = {**os.environ, "PATH": self.path, "PGHOST": self.host, "PGUSER": "postgres"}
        return subprocess.run(
            ["bash"], input=command, text=True, env=environment, capture_output=True, check=False
        )

    def names(self, suffix=""):
        with psycopg.connect(f"postgresql://postgres@/{self.name}{suffix}?host={self.host}") as db:
            return [row[0] for row in db.execute("SELECT email FROM users ORDER BY email")]


def restore():
    [block] = [each.text for each in guides.commands("backup") if "pg_restore" in each.text]
    return block


def dump(shop):
    [block] = [each.text for each in guides.commands("backup") if "pg_dump" in each.text]
    done = shop.run(block)
    assert done.returncode == 0, done.stderr


def test_a_dump_is_restored_although_a_connection_is_open(shop):
    dump(shop)
    shop.site.user("bob@example.com")
    shop.site.database.dispose()
    with psycopg.connect(f"postgresql://postgres@/{shop.name}?host={shop.host}"):
        done = shop.run(restore())
    assert done.returncode == 0, done.stderr
    assert shop.names() == ["ann@example.com"]
    assert shop.names("_former") == ["ann@example.com", "bob@example.com"]


def test_a_damaged_dump_changes_nothing_of_the_database(shop):
    dump(shop)
    file = shop.folder / "a.dump"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    shop.site.user("bob@example.com")
    shop.site.database.dispose()
    done = shop.run(restore())
    assert done.returncode != 0
    assert "db after-restore" not in done.stdout
    assert shop.names("_former") == ["ann@example.com", "bob@example.com"]


def test_a_database_that_cannot_be_renamed_is_not_written_to(shop):
    dump(shop)
    shop.site.user("bob@example.com")
    shop.site.database.dispose()
    stays = re.sub(r"^.*pg_terminate_backend.*\n", "", restore(), flags=re.MULTILINE)
    with psycopg.connect(f"postgresql://postgres@/{shop.name}?host={shop.host}"):
        done = shop.run(stays)
    assert done.returncode != 0
    assert "is being accessed by other users" in done.stderr
    assert shop.names() == ["ann@example.com", "bob@example.com"]
