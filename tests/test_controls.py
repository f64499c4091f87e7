"""docs/controls.md, docs/control-tests.md and the tests name the same controls."""

from tests.support.controls import PAGE, page, rows, used


def test_the_document_has_its_rows():
    severities = [severity for severity, _ in rows().values()]
    assert severities.count("C") >= 37
    assert severities.count("H") >= 46


def test_each_control_that_a_test_names_is_in_the_document():
    unknown = {control: tests for control, tests in used().items() if control not in rows()}
    assert unknown == {}


def test_each_critical_and_high_control_has_a_test():
    tested = used()
    missing = [
        control
        for control, (severity, built) in rows().items()
        if built and severity in "CH" and control not in tested
    ]
    assert missing == []


def test_control_tests_md_is_what_make_control_tests_writes():
    assert PAGE.read_text("utf-8") == page(), "run `make control-tests`"
