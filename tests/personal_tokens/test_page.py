"""Personal access tokens on the account page: shown once, with the scopes of the settings alone."""

import re

import pytest
from sqlalchemy import select

from authsite.oauth.models import PersonalToken
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD, bearer

FORM = {"name": "nightly", "expires_in": "30d", "current_password": PASSWORD}
SCOPES = {"scopes": "a: Read <all>\nb: Write\nc: Never", "personal_token_scopes": "a b"}


@pytest.fixture
def ann(site_with):
    """A site where Ann is signed in with a browser."""
    return with_ann(site_with(**SCOPES))


def with_ann(site):
    site.user(confirmed=True)
    sign_in(site)
    return site


def create(site, **fields):
    return submit(site, "/account/tokens", page="/account/access", **{**FORM, **fields})


def shown(answer):
    """The tokens in a page."""
    return re.findall(r"pat_[A-Za-z0-9_-]{20,}", answer.text)


def stored(site):
    with site.db() as db:
        return db.scalars(select(PersonalToken)).all()


def test_the_token_is_shown_once_in_the_answer_to_the_form(ann):
    answer = create(ann)
    [token] = shown(answer)
    assert answer.status_int == 200
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.request.query_string == ""
    assert "it will not be shown again" in answer.text
    assert ann.me(token).json["email"] == "ann@example.com"
    again = ann.http.get("/account/access")
    assert shown(again) == []
    assert "nightly" in again.text
    with_form = ann.http.get("/account/tokens", status=302)
    assert with_form.location.endswith("/account/access#tokens")
    assert shown(with_form.follow()) == []


def test_the_form_is_empty_after_a_token_was_created(ann):
    answer = create(ann, **{"scope:a": "1"})
    assert 'value="nightly"' not in answer.text
    assert not answer.html.select("input[checked]")


def test_the_boxes_are_the_scopes_of_the_setting(ann):
    page = ann.http.get("/account/access")
    boxes = [box["name"] for box in page.html.select("input[type=checkbox]")]
    assert boxes == ["scope:a", "scope:b"]
    assert "Read &lt;all&gt; (a)" in page.text
    create(ann, **{"scope:b": "1"})
    assert [row.scope for row in stored(ann)] == ["b"]


@pytest.mark.control("T27")
@pytest.mark.parametrize("field", ["scope:c", "scope:z", "scope", "scope:", "scope:a b c"])
def test_a_scope_that_the_setting_does_not_name_is_not_given(ann, field):
    create(ann, **{field: "c"})
    assert [row.scope for row in stored(ann)] == [""]


def test_without_the_setting_there_are_no_boxes(site_with):
    site = with_ann(site_with(scopes="a: Read"))
    assert site.http.get("/account/access").html.select("input[type=checkbox]") == []
    create(site, **{"scope:a": "1"})
    assert [row.scope for row in stored(site)] == [""]


@pytest.mark.parametrize(
    ("fields", "marked"),
    [
        ({"name": ""}, "tokens-name"),
        ({"name": "a\tb"}, "tokens-name"),
        ({"current_password": "wrong wrong 1"}, "tokens-current_password"),
    ],
)
def test_a_mistake_comes_back_beside_its_field_and_keeps_the_rest(ann, fields, marked):
    answer = create(ann, **{"expires_in": "7d", "scope:a": "1", **fields})
    assert answer.status_int == 422
    assert [field["id"] for field in answer.html.select("[aria-invalid=true]")] == [marked]
    assert answer.html.select_one("option[selected]")["value"] == "7d"
    assert [box["name"] for box in answer.html.select("input[checked]")] == ["scope:a"]
    assert PASSWORD not in answer.text
    assert stored(ann) == []


def test_a_lifetime_that_the_choice_does_not_offer_is_still_within_a_year(ann):
    answer = create(ann, expires_in="10y")
    assert answer.status_int == 422
    assert "at most a year" in answer.text


def test_a_name_is_shown_as_text(ann):
    answer = create(ann, name='<script>alert("x")</script>')
    assert "<script>alert" not in answer.text
    assert "&lt;script&gt;alert" in answer.text


def test_a_token_is_revoked_by_its_button(ann):
    page = create(ann)
    [token] = shown(page)
    path = page.html.find("form", action=re.compile("/revoke$"))["action"]
    refused = ann.http.post(path, {"csrf_token": "0" * 64}, status=403)
    assert refused.status_int == 403
    ann.me(token)
    answer = submit(ann, path, page="/account/access")
    assert answer.headers["Location"].endswith("/account/access?done=token")
    ann.me(token, status=401)
    page = answer.follow()
    assert "The token has been revoked." in page.text
    assert "nightly" not in page.text


def test_nothing_is_created_without_the_csrf_token_or_from_another_site(ann):
    assert ann.http.post("/account/tokens", FORM, status=403).status_int == 403
    token = csrf_of(ann.http.get("/account/access"))
    foreign = {"Origin": "https://evil.example"}
    ann.http.post("/account/tokens", {**FORM, "csrf_token": token}, headers=foreign, status=403)
    assert stored(ann) == []


def test_another_user_s_token_is_not_revoked_and_a_wrong_id_is_not_found(ann):
    [token] = shown(create(ann))
    [row] = stored(ann)
    ann.user("eve@example.com")
    ann.http.reset()
    sign_in(ann, "eve@example.com")
    submit(ann, f"/account/tokens/{row.id}/revoke", page="/account/access")
    ann.me(token)
    assert submit(ann, "/account/tokens/x/revoke", page="/account/access").status_int == 404


def test_without_a_session_the_forms_lead_to_the_login(ann):
    ann.http.reset()
    answer = ann.http.post("/account/tokens", FORM, headers=bearer("pat_x"), status=302)
    assert "/login?" in answer.location


def test_tokens_are_not_among_the_sessions_and_end_with_all_others(ann):
    [token] = shown(create(ann))
    page = ann.http.get("/account/security")
    assert len(page.html.select("section[aria-labelledby=sessions] li")) == 1
    submit(ann, "/account/sessions/end-others", page="/account/access")
    ann.me(token, status=401)
    assert "nightly" not in ann.http.get("/account/access").text
