"""What is installed from a wheel can be set up and checked in an empty folder (trial 8)."""

import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from contextlib import contextmanager
from email import message_from_string

import httpx
import pytest
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from tests.support.home import CHECKOUT, OURS
from tests.support.servers import free_port, stop, wait_for_port

pytestmark = pytest.mark.slow
NOT_SOURCES = shutil.ignore_patterns(
    ".git", ".venv", "var", "build", "dist", "*.egg-info", ".*_cache"
)


def run(*command, cwd, **variables):
    """The output of a command that must succeed, without the variables of this process."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    done = subprocess.run(
        [str(each) for each in command],
        capture_output=True, text=True, cwd=cwd, timeout=300,
        env={**environ, "PYTHONPATH": "", **variables},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(source, target, kind):
    """Build a ``wheel`` or ``sdist`` of ``source`` into ``target``, with the setuptools here."""
    code = f"import setuptools.build_meta as b; b.build_{kind}({str(target)!r})"
    run(sys.executable, "-c", code, cwd=source, PYTHONPATH=sysconfig.get_path("purelib"))
    [built] = target.iterdir()
    return built


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A copy of the sources, for building leaves files in them."""
    copy = tmp_path_factory.mktemp("sources") / "authsite"
    shutil.copytree(CHECKOUT, copy, ignore=NOT_SOURCES)
    # A language that is not supported any more, and an outdated catalogue: neither is packaged.
    for language in ("it", "de"):
        (copy / f"authsite/locale/{language}/LC_MESSAGES").mkdir(parents=True, exist_ok=True)
        (copy / f"authsite/locale/{language}/LC_MESSAGES/authsite.mo").write_bytes(b"outdated")
    return copy


@pytest.fixture(scope="module")
def wheel(sources, tmp_path_factory):
    """The wheel of these sources."""
    return build(sources, tmp_path_factory.mktemp("wheel"), "wheel")


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {
            name: archive.read(name) for name in archive.namelist() if not name.endswith("RECORD")
        }


def test_trial_8_the_wheel_carries_production_ini_and_the_readme(wheel):
    found = contents(wheel)
    assert found["authsite/production.ini"] == (CHECKOUT / "production.ini").read_bytes()
    assert not [name for name in found if name.startswith(("tests/", "bench/"))]
    [metadata] = [text for name, text in found.items() if name.endswith("/METADATA")]
    described = message_from_string(metadata.decode())
    assert described["Description-Content-Type"] == "text/markdown"
    assert (CHECKOUT / "README.md").read_text() in described.get_payload()


def test_the_wheel_says_that_the_package_has_types(wheel):
    assert contents(wheel)["authsite/py.typed"] == b""  # PEP 561


def test_the_wheel_has_the_compiled_catalogue_of_each_language(wheel):
    found = contents(wheel)
    sources = CHECKOUT.glob("authsite/locale/*/LC_MESSAGES/authsite.po")
    names = {str(path.relative_to(CHECKOUT).with_suffix(".mo")) for path in sources}
    assert names
    assert {name for name in found if name.endswith(".mo")} == names
    for name in names:
        with (CHECKOUT / name).with_suffix(".po").open("rb") as file:
            write_mo(compiled := io.BytesIO(), read_po(file))
        assert found[name] == compiled.getvalue()


def test_trial_8_the_source_distribution_builds_the_same_wheel(sources, wheel, tmp_path):
    for name in ("sdist", "again"):
        (tmp_path / name).mkdir()
    # What the containers and the examples of this checkout use.
    secrets = (
        "deploy/container/.env",
        "deploy/container/tls/privkey.pem",
        "examples/django/notes.sqlite3",
        "examples/flask/.venv/pyvenv.cfg",
    )
    for name in secrets:
        (sources / name).parent.mkdir(exist_ok=True)
        (sources / name).write_text("secret")
    archive = build(sources, tmp_path / "sdist", "sdist")
    shutil.unpack_archive(archive, tmp_path / "unpacked")
    [unpacked] = (tmp_path / "unpacked").iterdir()
    for name in ("production.ini", "development.ini", "requirements.txt", "docs/production.md"):
        assert (unpacked / name).read_bytes() == (CHECKOUT / name).read_bytes()
    assert not [name for name in secrets if (unpacked / name).exists()]
    assert not list(unpacked.rglob("*.mo"))  # the build of the wheel makes them
    assert not (unpacked / "tests").exists()  # without its helpers a test is of no use
    assert contents(build(unpacked, tmp_path / "again", "wheel")) == contents(wheel)


def test_trial_8_an_installed_wheel_is_set_up_in_an_empty_folder(wheel, tmp_path):
    venv.create(tmp_path / "venv", symlinks=True)
    site_packages = next((tmp_path / "venv/lib").glob("python3*")) / "site-packages"
    shutil.unpack_archive(wheel, site_packages, "zip")
    (site_packages / "others.pth").write_text(  # its dependencies are those of this process
        "\n".join(path for path in sys.path if path.endswith("site-packages"))
    )
    command = [tmp_path / "venv/bin/python", "-m", "authsite"]
    folder = tmp_path / "empty"
    folder.mkdir()
    where = run(command[0], "-c", "import authsite; print(authsite.__file__)", cwd=folder)
    assert where.startswith(str(site_packages))

    run(*command, "init", "--production", "--base-url", "https://auth.example.org",
        "--database-url", "sqlite:///authsite.sqlite", "--registration", "on",
        cwd=folder)  # fmt: skip
    report = run(*command, "doctor", "--verbose", "--config", "production.ini", cwd=folder)

    assert "WRONG" not in report
    assert "schema at" in report
    assert sorted(path.name for path in folder.iterdir() if "sqlite" not in path.name) == [
        "authsite.env",
        "production.ini",
    ]
    upgraded = run(*command, "db", "upgrade", "--config", "production.ini", cwd=folder)
    assert "The schema is at revision" in upgraded
    with served(command, folder) as http:
        for path in ("/login", "/register", "/docs", "/v1/openapi.json", "/healthz", "/readyz"):
            assert http.get(path).status_code == 200, path
        page = http.get("/login").text
        for path in re.findall(r'(?:href|src)="(/authsite/static/[^"]+)"', page):
            assert http.get(path).status_code == 200, path
        body = {"email": "ann@example.com", "password": "purple wolf 77 tea"}
        assert http.post("/v1/register", json=body).status_code == 201


@contextmanager
def served(command, folder):
    """``authsite serve`` from the wheel, in ``folder``; yields an httpx client."""
    port = free_port()
    options = ["--config", "production.ini", "--port", str(port), "--workers", "1"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            [*command, "serve", *options],
            cwd=folder, env={**environ, "PYTHONPATH": ""}, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        wait_for_port(port, process)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as http:
            yield http
    finally:
        stop(process)
