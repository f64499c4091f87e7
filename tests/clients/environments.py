"""The environments of the relying parties below ``var/clients``, with exact versions."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import need
from tests.support.home import CHECKOUT
from tests.support.installed import clean_environ

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "requirements"
FOLDER = CHECKOUT / "var" / "clients"
INSTALL_SECONDS = 600


class Environments:
    """Each is made once, and again if its requirements change."""

    def programs(self, name):
        """The folder ``bin`` of the environment ``name``; skips if pip cannot install it."""
        requirements = REQUIREMENTS / f"{name}.txt"
        folder, mark = FOLDER / name, FOLDER / name / "installed.txt"
        wanted = f"{sys.version}\n{requirements.read_text()}"
        if not mark.exists() or mark.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            run([sys.executable, "-m", "venv", folder], name)
            pip = [folder / "bin/pip", "install", "-q", "--disable-pip-version-check"]
            run([*pip, "-r", requirements], name)
            mark.write_text(wanted)
        return folder / "bin"

    def node(self, name):
        """The folder ``name`` of programs for Node.js, with their packages; skips without npm."""
        need(shutil.which("node") and shutil.which("npm"), "Node.js with npm")
        folder, mark = FOLDER / name, FOLDER / name / "installed.json"
        wanted = (HERE / name / "package-lock.json").read_text()
        if not mark.exists() or mark.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(HERE / name, folder)
            options = ["--no-audit", "--no-fund", "--loglevel=error"]
            run(["npm", "ci", "--prefix", folder, *options], name)
            mark.write_text(wanted)
        for each in (HERE / name).glob("*.mjs"):
            shutil.copy(each, folder)
        return folder


def run(command, name):
    """A step of an installation. A missing package index is a skip, or a failure in CI."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_SECONDS, env=clean_environ()
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"the environment {name} was not installed in {INSTALL_SECONDS} s")
    need(done.returncode == 0, f"the environment of {name}: {done.stderr[-300:]}")
