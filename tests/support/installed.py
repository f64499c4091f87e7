"""The wheel of this checkout in a separate virtual environment, as an operator installs it."""

import fcntl
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import authsite

CHECKOUT = Path(authsite.__file__).parent.parent
_LEFT_OUT = shutil.ignore_patterns(".*", "var", "build", "dist", "*.egg-info", "__pycache__")
_OURS = ("AUTHSITE_", "CLIENT_", "API_", "COVERAGE_", "PYTHON")


def clean_environ(**variables):
    """The environment of this process without anything that concerns authsite or Python."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(_OURS)}
    return {**inherited, **variables}


def build_wheel(folder):
    """The wheel, built in ``folder`` from a copy of the checkout; its path."""
    source = shutil.copytree(CHECKOUT, folder / "source", ignore=_LEFT_OUT)
    _pip("wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder, source)
    [wheel] = folder.glob("*.whl")
    return wheel


class Installed:
    """A virtual environment with a wheel in it; ``bin`` has the commands."""

    def __init__(self, folder):
        self.folder = folder
        self.bin = folder / "bin"
        [self.packages] = (folder / "lib").glob("python*/site-packages")

    @classmethod
    def once(cls, tmp_path_factory):
        """The wheel of this checkout, installed once for all processes of this run.

        The first process makes it, and the others wait for that ("Making session-scoped fixtures
        execute only once", documentation of pytest-xdist).
        """
        base = tmp_path_factory.getbasetemp()
        folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "installed"
        folder.mkdir(exist_ok=True)
        ready = folder / "ready"
        with open(folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not ready.exists():
                cls.new(folder / "venv", build_wheel(folder))
                ready.touch()
        return cls(folder / "venv")

    @classmethod
    def new(cls, folder, wheel):
        """A new environment in ``folder``, with ``wheel``."""
        venv.create(folder, symlinks=True)
        made = cls(folder)
        # The dependencies come from the running interpreter, so that nothing is downloaded. A
        # .pth file of theirs (such as an editable checkout's) has no effect from here.
        found = [path for path in sys.path if path.endswith("site-packages")]
        (made.packages / "dependencies.pth").write_text("\n".join(found))
        _pip("--python", made.bin / "python", "install", "--no-deps", "--no-index", wheel)
        return made

    @property
    def static(self):
        """The folder of the package's static files."""
        return self.packages / "authsite" / "static"


def _pip(*arguments):
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *arguments]
    done = subprocess.run(command, env=clean_environ(), capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
