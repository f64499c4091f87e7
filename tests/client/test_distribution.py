"""authsite-client is apart from authsite and needs nothing but Python."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

import authsite
import authsite_client

PACKAGE = Path(authsite_client.__file__).parent
MODULES = sorted(PACKAGE.glob("**/*.py"))


def imported(path):
    """The top names of all modules that a file imports, but for its own package's."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


# The library that a module is for: an extra of the distribution.
EXTRAS = {"requests_auth": {"requests"}, "httpx_auth": {"httpx"}, "oidc": {"joserfc"}}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_imports_only_the_standard_library(path):
    # What only a type checker reads: `_typeshed` belongs to it.
    others = {*imported(path)} - sys.stdlib_module_names - {"_typeshed"}
    assert others == EXTRAS.get(path.stem, set())


def test_a_module_for_another_library_is_imported_by_none_of_ours():
    for path in MODULES:
        assert not re.search(r"from \.((requests|httpx)_auth|oidc) ", path.read_text()), path
    extras = {module.removesuffix("_auth"): libraries for module, libraries in EXTRAS.items()}
    assert extras == {
        extra: {re.match(r"\w+", each)[0] for each in requirements}
        for extra, requirements in project()["optional-dependencies"].items()
    }


def test_authsite_does_not_import_its_client():
    for path in Path(authsite.__file__).parent.rglob("*.py"):
        assert "authsite_client" not in {*imported(path)}, path


def test_the_distribution_has_no_dependencies_and_has_types():
    assert project()["dependencies"] == []
    assert project()["requires-python"] == ">=3.11"
    assert (PACKAGE / "py.typed").exists()


def project():
    return tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]


def test_every_public_name_is_exported():
    for name in authsite_client.__all__:
        assert hasattr(authsite_client, name)
    public = {name for name in vars(authsite_client) if name[0].isupper()}
    assert set(authsite_client.__all__) == public
