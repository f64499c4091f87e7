"""A document of a host that the user has never allowed is fetched after a press alone.

A page that sends its visitors here would learn from the request for its document who of them is
signed in.
"""

import pytest

from authsite.oauth.models import Client
from tests.support.authorizing import (
    asks_consent,
    asks_to_fetch,
    authorize,
    code_for,
    leads_to,
    log_in,
    press,
    sign_in,
    target_of,
)
from tests.support.documents import HOST


def clients(site):
    with site.db() as db:
        return db.query(Client).count()


def test_before_the_press_the_page_names_the_host_and_nothing_is_fetched(issuer, ann, there):
    sign_in(issuer)
    for _ in range(25):  # nor is it counted
        page = authorize(issuer, there.application, pressed=False)
    text = " ".join(page.html.main.get_text(" ", strip=True).split())
    assert f"It is described by {HOST}" in text
    assert "Continue as ann@example.com" in text
    assert (there.fetched, clients(issuer)) == (0, 0)
    shown = press(issuer, page, "continue")
    assert (there.fetched, clients(issuer)) == (1, 1)
    assert asks_consent(shown)


def test_the_sign_in_of_this_request_is_a_press(issuer, ann, there):
    page = log_in(issuer, authorize(issuer, there.application))
    assert (there.fetched, asks_consent(page)) == (1, True)


def test_a_sign_in_before_the_request_is_none(issuer, ann, there):
    answer = authorize(issuer, there.application)
    assert leads_to(answer) == "/login"
    sign_in(issuer)  # elsewhere, and not by the way of this request
    assert asks_to_fetch(authorize(issuer, there.application, pressed=False))
    assert there.fetched == 0


@pytest.mark.parametrize("signed_in", [False, True])
@pytest.mark.parametrize(
    "wrong",
    [
        {"response_type": "token"},
        {"response_type": None},
        {"code_challenge": None},
        {"code_challenge_method": "plain"},
        {"resource": "https://unknown.example/"},
        {"id_token_hint": "a.b.c"},
        {"prompt": "none login"},
        {"max_age": "old"},
    ],
)
def test_the_other_parameters_are_checked_before(issuer, ann, there, wrong, signed_in):
    if signed_in:
        sign_in(issuer)
    answer = authorize(issuer, there.application, pressed=False, **wrong)
    assert (answer.status_int, target_of(answer)) == (400, None)
    assert there.fetched == 0


def test_without_a_page_nothing_is_fetched(issuer, ann, there):
    sign_in(issuer)
    answer = authorize(issuer, there.application, pressed=False, prompt="none")
    assert (answer.status_int, target_of(answer), there.fetched) == (400, None, 0)


def test_a_host_that_the_user_has_allowed_is_known(issuer, ann, there):
    code_for(issuer, there.application)
    assert there.fetched == 1
    with issuer.db() as db:
        db.query(Client).one().document_expires_at = ann.created_at
    page = authorize(issuer, there.application, pressed=False)
    assert (there.fetched, asks_to_fetch(page)) == (2, False)
    issuer.user("bo@example.com", confirmed=True)
    with issuer.db() as db:
        db.query(Client).one().document_expires_at = ann.created_at
    issuer.new_browser()
    sign_in(issuer, "bo@example.com")
    assert asks_to_fetch(authorize(issuer, there.application, pressed=False))
    assert there.fetched == 2


def test_another_site_cannot_press(issuer, ann, there):
    sign_in(issuer)
    page = authorize(issuer, there.application, pressed=False)
    form = next(each for each in page.forms.values() if "decision" in each.fields)
    foreign = {"Origin": "https://evil.example"}
    answer = form.submit("decision", value="continue", headers=foreign, status=303)
    assert asks_to_fetch(issuer.http.get(answer.location))
    without_token = dict(form.submit_fields("decision", submit_value="continue"))
    without_token["csrf_token"] = "x"
    issuer.http.post(page.request.url, without_token, status="*")
    assert there.fetched == 0
