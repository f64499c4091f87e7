"""docs/controls.md and the tests name the same controls."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
ROW = re.compile(r"\| ([A-Z]\d\d)( \(planned\))? \|.*\| ([CHML]) \|")


def rows():
    """The rows of docs/controls.md: id -> (severity, whether the feature exists)."""
    text = (TESTS.parent / "docs" / "controls.md").read_text()
    return {row[1]: (row[3], not row[2]) for row in ROW.finditer(text)}


def used():
    """The ids that tests name: id -> the files."""
    found = {}
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.control":
                for argument in node.args:
                    found.setdefault(ast.literal_eval(argument), []).append(path.name)
    return found


def test_the_document_has_its_rows():
    severities = [severity for severity, _ in rows().values()]
    assert severities.count("C") >= 37
    assert severities.count("H") >= 46


def test_each_control_that_a_test_names_is_in_the_document():
    unknown = {control: files for control, files in used().items() if control not in rows()}
    assert unknown == {}


def test_each_critical_and_high_control_has_a_test():
    tested = used()
    missing = [
        control
        for control, (severity, built) in rows().items()
        if built and severity in "CH" and control not in tested
    ]
    assert missing == []
