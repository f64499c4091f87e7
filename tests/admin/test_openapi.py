"""The OpenAPI document describes the API for administrators as completely as the rest."""

import pytest

from tests.openapi import test_document as checks
from tests.support.described import Described


@pytest.fixture
def described(site):
    return Described(site)


@pytest.mark.parametrize(
    "check",
    [
        checks.test_every_endpoint_is_in_the_document_and_nothing_else,
        checks.test_the_document_is_valid_openapi_3_1,
        checks.test_every_operation_says_what_it_does_takes_and_answers,
        checks.test_every_error_says_when_it_occurs,
        checks.test_every_field_that_is_read_or_answered_is_explained,
        checks.test_every_example_fits_its_schema,
    ],
)
def test_the_document_passes_the_check_of_a_site(check, site):
    check(site)


@pytest.mark.parametrize(
    "check",
    [
        checks.test_every_tag_is_explained,
        checks.test_m18_the_tags_are_in_the_order_of_a_new_reader_and_none_is_forgotten,
        checks.test_m18_no_example_is_a_word_that_stands_for_nothing,
        checks.test_a_guarded_endpoint_announces_the_guards_refusal_and_its_challenge,
    ],
)
def test_the_document_passes_the_check_of_a_document(check, described):
    check(described)
