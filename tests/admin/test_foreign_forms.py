"""Forms that another origin sends to a confirming page: nothing is done, and nothing is kept."""

import pytest

from tests.support import administrators
from tests.support.pages import csrf_of

from .acting import path_of

OWNER = 'input[name="group:authsite:owner"]'
CHOSEN = {"group:authsite:owner": "1", "shown": "=", "reason": "theirs"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://other.localhost"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_the_form_of_another_origin_is_shown_empty(site, ann, headers):
    administrators.signed_in(site, "owner")
    path = path_of(ann, "groups")
    token = csrf_of(site.http.get(path, status=200))
    page = site.http.post(path, {"csrf_token": token, **CHOSEN}, headers=headers, status=403)
    assert not page.html.select_one(OWNER).has_attr("checked")
    assert "theirs" not in page.text


def test_a_form_of_ours_with_an_old_token_keeps_what_was_entered(site, ann):
    administrators.signed_in(site, "owner")
    page = site.http.post(path_of(ann, "groups"), {"csrf_token": "old", **CHOSEN}, status=403)
    assert page.html.select_one(OWNER).has_attr("checked")
    assert "theirs" in page.text
