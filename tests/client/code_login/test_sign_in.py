"""`CodeLogin` and `OidcLogin`: a user comes back signed in; what the request and the logout say."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.client.code_login.steps import KINDS, answer, sign_in, start
from tests.client.conftest import CLIENT
from tests.client.signing import ABOUT, CALLBACK, SUB, challenge_of


@pytest.mark.parametrize("kind", KINDS)
def test_a_user_comes_back_signed_in(fake, login_of, kind):
    login, session = login_of(kind), {}
    sent = start(login, session, "/orders?page=2")
    user = login.callback(session, answer(fake, sent))
    assert (user.sub, user.email, user.next) == (SUB, ABOUT["email"], "/orders?page=2")
    assert user.claims["name"] == "Ann"
    assert user.tokens.access_token == "at_1"
    [form] = fake.redeemed
    assert form["code"] == "ac_1"
    assert form["redirect_uri"] == sent["redirect_uri"] == CALLBACK
    assert challenge_of(form["code_verifier"]) == sent["code_challenge"]
    assert "at_1" not in repr(user)
    assert user.id_token not in repr(user)


def test_the_request_is_that_of_the_code_flow_with_pkce(login_of, fake):
    url = login_of().login_url({}, login_hint="ann@example.com", max_age=300)
    assert url.startswith(f"{fake.url}/oauth/authorize?")
    sent = dict(parse_qsl(urlsplit(url).query))
    assert sent.keys() == {
        "response_type", "client_id", "redirect_uri", "scope", "state", "nonce",
        "code_challenge", "code_challenge_method", "login_hint", "max_age",
    }  # fmt: skip
    assert sent["response_type"] == "code"
    assert sent["code_challenge_method"] == "S256"
    assert sent["max_age"] == "300"
    assert "openid" in sent["scope"].split()


def test_no_parameter_replaces_what_protects_the_sign_in(login_of):
    sent = start(login_of(), {}, state="chosen", nonce="chosen", code_challenge_method="plain")
    assert "chosen" not in sent.values()
    assert sent["code_challenge_method"] == "S256"


def test_each_start_has_its_own_secrets(login_of):
    login = login_of()
    first, second = start(login, {}), start(login, {})
    for name in ("state", "nonce", "code_challenge"):
        assert len(first[name]) >= 43
        assert first[name] != second[name]


def test_two_tabs_come_back_in_any_order(login_of, fake):
    login, session = login_of(), {}
    first, second = start(login, session, "/one"), start(login, session, "/two")
    assert login.callback(session, answer(fake, second)).next == "/two"
    assert login.callback(session, answer(fake, first)).next == "/one"


@pytest.mark.parametrize(
    "place",
    ["//evil.test", "/\\evil.test", "https://evil.test", "/a\\b", "/a\nb", "/\t/b", "x", "", None],
)
def test_another_host_is_never_the_next_page(login_of, fake, place):
    login, session = login_of(), {}
    assert login.callback(session, answer(fake, start(login, session, place))).next == "/"


def test_an_unconfirmed_address_is_no_email(fake, login_of):
    fake.about = {**ABOUT, "email_verified": False}
    assert sign_in(fake, login_of()).email is None
    fake.about = {"sub": SUB, "email": "ann@example.com"}
    assert sign_in(fake, login_of()).email is None


def test_a_sign_in_needs_the_scope_openid(login_of):
    with pytest.raises(ValueError, match="openid"):
        login_of(scope="profile email")


def test_browsers_may_reach_authsite_at_another_address(fake, login_of):
    login, session = login_of(issuer="https://auth.example.org/"), {}
    url = login.login_url(session)
    assert url.startswith("https://auth.example.org/oauth/authorize?")
    sent = dict(parse_qsl(urlsplit(url).query))
    fake.claims = {"iss": "https://auth.example.org"}
    assert login.callback(session, answer(fake, sent, iss="https://auth.example.org")).sub == SUB


def test_the_logout_names_the_sign_in_and_the_way_back(login_of, fake):
    login = login_of()
    url = urlsplit(login.logout_url("a.b.c", "https://app.example.org/"))
    assert dict(parse_qsl(url.query)) == {
        "id_token_hint": "a.b.c",
        "client_id": CLIENT[0],
        "post_logout_redirect_uri": "https://app.example.org/",
    }
    assert login.logout_url() == f"{fake.url}/oauth/logout?client_id={CLIENT[0]}"
