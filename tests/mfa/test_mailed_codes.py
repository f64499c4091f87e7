"""Second steps of clients with a mailed code: unknown browsers, and before a factor is added."""

import pytest

from authsite.sign_in.credentials import amr_of
from tests.factors.steps import Person
from tests.mfa.test_factors import begin, newest, post, step
from tests.mfa.two_steps import codes_of
from tests.support.mails import text_of
from tests.support.site import WEB, bearer


def code_in(site):
    """The code in the newest mail."""
    import re

    return re.findall(r"\b[A-Z]{4}-[A-Z]{4}\b", text_of(site.mails()[-1]))[0]


@pytest.fixture
def ann(site_with):
    site = site_with(unrecognized_login="code", limits="on", **WEB)
    person = Person.__new__(Person)
    person.site, person.email = site, "ann@example.com"
    person.id, person.keys = site.user(confirmed=True).id, site.client()
    return person


def test_a_password_in_an_unknown_place_needs_a_mailed_code(ann):
    ann.site.mails()
    answer = begin(ann)
    assert (answer["mfa_methods"], answer["mfa_enroll"]) == (["email"], False)
    token = answer["mfa_token"]
    assert ann.site.mails() == []  # nothing is mailed unasked
    post(ann.site, "email", token, 202)
    code = code_in(ann.site)
    assert codes_of(step(ann, token, 400, method="email", code="BBBB-BBBB")) == ["invalid_code"]
    step(ann, token, method="email", code=code)
    assert amr_of(newest(ann.site).facts) == ("pwd", "email")
    assert codes_of(step(ann, token, 400, method="email", code=code)) == []


def test_the_code_of_another_login_does_not_serve(ann):
    tokens = [begin(ann)["mfa_token"] for _ in range(2)]
    post(ann.site, "email", tokens[0], 202)
    code = code_in(ann.site)
    assert codes_of(step(ann, tokens[1], 400, method="email", code=code)) == ["invalid_code"]
    step(ann, tokens[0], method="email", code=code)


def test_over_the_limit_nothing_is_mailed_and_the_answer_is_the_same(ann):
    token = begin(ann)["mfa_token"]
    ann.site.mails()
    answers = [post(ann.site, "email", token, 202) for _ in range(7)]
    assert len(set(map(str, answers))) == 1
    assert len(ann.site.mails()) == 5


def test_before_a_factor_is_added_the_mailed_code_comes_first(site_with, frozen):
    site = site_with(second_factor="required", second_factor_from="2031-05-18")
    site.clock = frozen
    ann = Person(site, known=False)
    frozen.advance(24 * 3600)
    answer = begin(ann)
    assert (answer["mfa_methods"], answer["mfa_enroll"]) == (["email"], False)
    token = answer["mfa_token"]
    assert post(site, "enroll", token, 400)["error"] == "invalid_request"
    post(site, "email", token, 202)
    frozen.advance(100)
    again = step(ann, token, 400, method="email", code=code_in(site))
    assert (again["error"], again["mfa_token"]) == ("mfa_required", token)
    assert (again["mfa_methods"], again["mfa_enroll"]) == ([], True)
    assert again["expires_in"] == 500
    begun = post(site, "enroll", token)
    done = step(ann, token, code=ann.code(begun["secret"]), enrollment=begun["enrollment"])
    assert len(done["recovery_codes"]) == 8
    assert amr_of(newest(site).facts) == ("pwd", "email", "otp")
    assert site.http.get("/v1/user", headers=bearer(done["access_token"]), status=200)
