"""What a release consists of: one version, the changelog, CI, and where to report what."""

import re
from importlib.metadata import version

import yaml

from tests.support.home import CHECKOUT


def read(path):
    return (CHECKOUT / path).read_text("utf-8")


def test_the_version_is_that_of_setup_py_alone():
    [number] = re.findall(r'^    version="(.+)",$', read("setup.py"), re.MULTILINE)
    assert version("authsite") == number  # `authsite --version` prints it
    assert f"authsite-{number}-py3-none-any.whl" in read("docs/production.md")
    assert f"authsite-{number}-py3-none-any.whl" in read("docs/operations.md")
    assert "version" not in read("pyproject.toml").replace("target-version", "").replace(
        "python_version", ""
    )


def test_the_changelog_has_the_form_of_keep_a_changelog():
    text = read("CHANGELOG.md")
    releases = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert releases[0] == "[Unreleased]"
    for each in releases[1:]:
        assert re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", each), each
    kinds = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    before = text.partition("### ")[0]
    assert not re.search(r"^- ", before, re.MULTILINE), "below a heading such as ### Added"


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
