"""docs/errors.md, api.md and audit.md are what `make reference` writes from the code."""

import pytest

from tests.support import api_reference, audit_reference, error_reference


@pytest.mark.parametrize(
    "reference", [api_reference, audit_reference, error_reference], ids=["api", "audit", "errors"]
)
def test_the_page_is_what_make_reference_writes(reference):
    assert reference.PAGE.read_text("utf-8") == reference.page()


def test_every_code_of_a_field_is_explained():
    known = set(error_reference.FIELDS)
    assert error_reference.field_codes() <= known
    assert known - error_reference.field_codes() == {"code_used"}  # of codes
