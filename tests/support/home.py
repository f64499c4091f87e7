"""A folder with a separate ini, where commands run as their user runs them."""

import json
import os

from tests.support import commands
from tests.support.commands import CHECKOUT

OURS = ("AUTHSITE_", "CLIENT_", "API_")


def initialized(folder):
    """A `Home` after ``init``."""
    home = Home(folder)
    home.run("init")
    return home


class Home:
    """``run`` commands in ``folder``; files are made where a new user finds them."""

    def __init__(self, folder):
        self.folder = folder
        self.database = folder / "var" / "authsite.sqlite"
        self.env_file = folder / "var" / "authsite.env"
        self.url = f"sqlite:///{self.database}"
        self.ini = folder / "development.ini"
        # The file that everybody gets, so that its defaults are what is tested.
        self.ini.write_text((CHECKOUT / "development.ini").read_text())

    def run(self, *arguments, stdin=None, status=0, cwd=None, **variables):
        """The finished command; fails unless it ended with ``status`` (None: any)."""
        environ = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
        given = {**environ, "PYTHONPATH": str(CHECKOUT), **variables}
        done = commands.run(arguments, stdin=stdin, cwd=cwd or self.folder, env=given)
        assert status in (None, done.returncode), f"{done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def json(self, *arguments, **more):
        """The one object that a command prints with ``--json``."""
        return json.loads(self.run(*arguments, "--json", **more).stdout)

    def variables(self):
        """The lines of the environment file."""
        lines = self.env_file.read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
