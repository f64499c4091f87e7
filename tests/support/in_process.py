"""Commands in this process, on the database of a test's site."""

import json

from click.testing import CliRunner

from authsite.cli import authsite
from tests.support.site import SECRET


def write_ini(path, url, **settings):
    """An ini for commands on the database ``url``."""
    given = {"secret": SECRET, "database-url": url, "bcrypt-cost": "10", **settings}
    lines = [f"authsite.{key} = {value}" for key, value in given.items()]
    path.write_text("[app:main]\n" + "\n".join(lines).replace("%", "%%") + "\n")
    return str(path)


class Commands:
    """Runs commands with an ini in ``folder`` for the database of ``site``, and ``settings``."""

    def __init__(self, site, folder, **settings):
        given = {name.replace("_", "-"): value for name, value in settings.items()}
        self.ini = write_ini(folder / "site.ini", site.url, **given)

    def run(self, *arguments, stdin=None, status=0):
        """The result of a command; fails unless it ended with ``status``."""
        given = [*map(str, arguments), "--config", self.ini]
        done = CliRunner().invoke(authsite, given, input=stdin, prog_name="authsite")
        assert done.exit_code == status, f"{done.output}{done.exception!r}"
        return done

    def json(self, *arguments, **more):
        """The one object that a command prints with ``--json``."""
        return json.loads(self.run(*arguments, "--json", **more).stdout)
