"""The limits of sign-in codes: over them the answer is the same."""

import pytest

from authsite.sign_in.methods.mail_code import codes
from tests.support.pages import sign_in, submit

from .conftest import (
    prove,
    request_code,
    rows,
)


@pytest.fixture
def site(by_mail):
    return by_mail()


def test_over_the_limit_of_the_address_the_answer_is_the_same_and_no_code_is_right(site):
    for _ in range(5):
        request_code(site)
        site.new_browser()
    assert len(site.mails()) == 5
    request_code(site)
    assert site.mails() == []
    code = codes.code_of(site.app.registry["authsite"].keys, rows(site)[-1].id)
    assert prove(site, code).status_int == 422


def test_a_recognized_browser_has_a_limit_of_its_own(site):
    sign_in(site)
    submit(site, "/logout")
    for _ in range(6):
        request_code(site)
    assert len(site.mails()) == 5
    other = {"REMOTE_ADDR": "198.51.100.7"}
    site.new_browser()
    site.http.extra_environ.update(other)
    request_code(site)
    assert len(site.mails()) == 1


def test_an_address_has_a_limit_over_all_names(site):
    for number in range(20):
        request_code(site, f"nobody{number}@example.com")
    request_code(site)
    assert site.mails() == []
    # What sent no mail has used up nothing of Ann's limit.
    site.new_browser()
    site.http.extra_environ["REMOTE_ADDR"] = "198.51.100.7"
    for _ in range(6):
        request_code(site)
    assert len(site.mails()) == 5
