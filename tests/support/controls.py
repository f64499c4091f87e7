"""The controls of docs/controls.md and their tests: ``python -m tests.support.controls``."""

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs"
PAGE = DOCS / "control-tests.md"
ROW = re.compile(r"\| ([A-Z]\d\d)( \(planned\))? \|.*\| ([CHML]) \|")
HEAD = """\
<!-- Generated from the tests by `make control-tests`. -->
# Controls and their tests

The tests that prove each of the [controls](controls.md). Paths are below `tests/`; a file without
a test stands for all its tests. *planned*: the feature does not exist. –: no test names it.

| id | severity | tests |
|---|---|---|
"""


def rows():
    """The rows of docs/controls.md: id -> (severity, whether the feature exists)."""
    text = (DOCS / "controls.md").read_text("utf-8")
    return {row[1]: (row[3], not row[2]) for row in ROW.finditer(text)}


@cache
def used():
    """The ids that tests name: id -> tests, such as ``tests/x/test_y.py::test_z``."""
    found = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        name = path.relative_to(TESTS.parent).as_posix()
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                marks, test = node.decorator_list, f"{name}::{node.name}"
            elif isinstance(node, ast.Assign):
                marks, test = [node.value], name
            else:
                continue
            for mark in marks:
                for control in _controls(mark):
                    found.setdefault(control, []).append(test)
    return found


def _controls(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.control":
            yield from map(ast.literal_eval, node.args)


def page():
    """The whole page."""
    tests = used()
    lines = []
    for control, (severity, built) in rows().items():
        names = tests.get(control, [])
        shown = "<br>".join(f"`{name.removeprefix('tests/')}`" for name in sorted(set(names)))
        lines.append(f"| {control} | {severity} | {shown or ('–' if built else 'planned')} |\n")
    return HEAD + "".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
