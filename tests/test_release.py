"""What a release consists of: one version, the changelog, CI, and where to report what."""

import re
import subprocess
import tomllib
from importlib.metadata import version

import pytest
import yaml

from tests.support.home import CHECKOUT


def read(path):
    return (CHECKOUT / path).read_text("utf-8")


def test_the_version_is_that_of_setup_py_alone():
    [number] = re.findall(r'^    version="(.+)",$', read("setup.py"), re.MULTILINE)
    assert version("authsite") == number  # `authsite --version` prints it
    assert f"authsite-{number}-py3-none-any.whl" in read("docs/production.md")
    assert f"authsite-{number}-py3-none-any.whl" in read("docs/operations.md")
    assert tomllib.loads(read("clients/python/pyproject.toml"))["project"]["version"] == number
    for page in ("clients", "production"):
        assert f"authsite_client-{number}-py3-none-any.whl" in read(f"docs/{page}.md")
    assert "version" not in read("pyproject.toml").replace("target-version", "").replace(
        "python_version", ""
    )


def test_the_changelog_begins_with_the_next_version():
    text = read("CHANGELOG.md")
    newest, *releases = re.findall(r"^## (.+)$", text, re.MULTILINE)
    [number] = re.findall(r'^    version="(.+)",$', read("setup.py"), re.MULTILINE)
    assert re.fullmatch(rf"{re.escape(number)} \((unreleased|\d{{4}}-\d\d-\d\d)\)", newest)
    for each in releases:
        assert re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", each), each
    before = text.partition("### ")[0]
    assert not re.search(r"^- ", before, re.MULTILINE), "below a heading such as ### Operation"


def test_ci_runs_everything_and_the_form_of_an_issue_is_valid():
    jobs = yaml.safe_load(read(".github/workflows/ci.yml"))["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert ".ci/run" in commands
    assert "make docs" in read(".ci/run")
    for name in ("bug", "feature"):
        form = yaml.safe_load(read(f".github/ISSUE_TEMPLATE/{name}.yml"))
        ids = [part["id"] for part in form["body"] if part["type"] != "markdown"]
        assert len(ids) == len(set(ids)) >= 3


def test_the_files_of_a_release_are_in_the_makefile():
    makefile = read("Makefile")
    assert ".cdx.json" in makefile
    for name in ("docs", "dist"):
        lock = read(f"requirements-{name}.txt")
        pinned = set(re.findall(r"^([\w.-]+)==", lock, re.MULTILINE))
        wanted = re.findall(r"^([\w.-]+)>=", read(f"requirements-{name}.in"), re.MULTILINE)
        assert set(wanted) <= pinned
        assert lock.count("==") <= lock.count("--hash=")


def dist_commands():
    """What ``make dist`` runs, each line continued."""
    done = subprocess.run(
        ["make", "--dry-run", "dist"], cwd=CHECKOUT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_release_has_both_distributions_and_the_web_client():
    commands = dist_commands()
    assert "-m build --no-isolation --outdir dist $source" in commands
    assert "for source in . var/authsite-client;" in commands
    assert "cp -R clients/python var/authsite-client" in commands
    page = read("docs/releasing.md")
    for name in ("authsite", "authsite_client"):
        assert f"`{name}-<version>-py3-none-any.whl`" in page


def test_the_web_client_of_a_release_has_what_it_imports():
    [copied] = re.findall(r"cp ((?:authsite/static/client/\S+ )+)", dist_commands())
    files = {name.rpartition("/")[2] for name in copied.split()}
    assert {"authsite.js", "authsite.d.ts"} <= files
    for name in files:
        imported = re.findall(r'from "\./([\w.]+)"', read(f"authsite/static/client/{name}"))
        assert set(imported) <= files, name
    for name in files:
        assert f"`{name}`" in read("docs/web-client.md"), name


def test_what_pypi_shows_of_the_client_has_no_relative_link():
    """A page of PyPI is not in the repository."""
    assert re.findall(r"\]\((?!https:)", read("clients/python/README.md")) == []


@pytest.mark.parametrize("page", sorted(CHECKOUT.glob("docs/*.md")), ids=lambda path: path.stem)
def test_no_page_installs_by_a_name_that_may_be_of_another_project(page):
    """docs/releasing.md: until both names belong to the project, only files are installed."""
    if page.stem != "releasing":
        assert not re.search(r"pip install (?:-\S+ )*[\"']?authsite(?:-client)?\b(?![-_]|\S*whl)",
                             page.read_text("utf-8"))  # fmt: skip
