"""The wheel of authsite-client in a virtual environment that has nothing else."""

import shutil
import subprocess
import sys
import venv

import pytest

from tests.support.commands import CHECKOUT
from tests.support.installed import clean_environ

pytestmark = pytest.mark.slow

CODE = """
import sys, authsite_client
print(authsite_client.__file__)
authsite_client.Verifier("https://auth.example.org", "id", "secret").close()
print(*{name.partition(".")[0] for name in sys.modules if "authsite" in name})
"""


def pip(*arguments):
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *arguments]
    done = subprocess.run(command, env=clean_environ(), capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_is_installed_and_imported_without_authsite(tmp_path):
    ignored = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    sources = shutil.copytree(CHECKOUT / "clients/python", tmp_path / "sources", ignore=ignored)
    pip("wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", tmp_path, sources)
    [wheel] = tmp_path.glob("authsite_client-*-py3-none-any.whl")

    venv.create(tmp_path / "venv", symlinks=True)
    python = tmp_path / "venv/bin/python"
    pip("--python", python, "install", "--no-index", wheel)
    done = subprocess.run(
        [python, "-c", CODE], cwd=tmp_path, env=clean_environ(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    where, modules = done.stdout.splitlines()
    assert where.startswith(str(tmp_path / "venv"))
    assert modules == "authsite_client"
    assert list((tmp_path / "venv/lib").rglob("authsite_client/py.typed"))
