"""docs/conformance.md has a row for each test, and docs/conformance.json fits the metadata."""

import ast
import json
import re
from pathlib import Path

from tests.support.home import CHECKOUT

HERE = Path(__file__).parent
PAGE = (CHECKOUT / "docs/conformance.md").read_text("utf-8")
RESULTS = ("passed", "warning", "skipped")


def rows():
    """The result of each module, by its whole name."""
    found = re.findall(r"^\| `([\w-]+)` \| (\w+) \|", PAGE, re.MULTILINE)
    assert len(found) == len(dict(found))
    return {f"oidcc-{module}": result for module, result in found}


def modules():
    """The docstring of each test that is named as a module."""
    functions = [
        node
        for path in HERE.glob("test_*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_oidcc_")
    ]
    return {
        node.name.removeprefix("test_").replace("_", "-"): ast.get_docstring(node) or ""
        for node in functions
    }


def test_every_module_of_the_page_has_its_test():
    assert rows().keys() == modules().keys()
    assert set(rows().values()) == set(RESULTS)


def test_warnings_and_what_does_not_apply_are_said_on_both_sides():
    for module, text in modules().items():
        result = "warning" if "WARNING" in text else "skipped" if "Skipped" in text else "passed"
        assert rows()[module] == result, module


def test_the_configuration_of_the_suite_names_what_the_page_registers():
    text = (CHECKOUT / "docs/conformance.json").read_text("utf-8")
    alias = json.loads(text)["alias"]
    assert f"/test/a/{alias}/callback" in PAGE
    assert f"/test/a/{alias}/callback" in text
