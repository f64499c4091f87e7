"""`CodeLogin` and `OidcLogin`: a sign-in that another browser, server or application answers."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from authsite_client import ApiError, CodeLogin, LoginFailed, Service, Unreachable, code_login
from authsite_client.oidc import OidcLogin
from tests.client.conftest import CLIENT
from tests.client.signing import (
    ABOUT,
    CALLBACK,
    SUB,
    challenge_of,
    fake_server,
    new_key,
    without_signature,
)
from tests.support.tiny_server import TIMEOUT

KINDS = [CodeLogin, OidcLogin]


@pytest.fixture
def fake():
    fake, running = fake_server()
    with running as server:
        fake.url = server.url
        fake.server = server
        yield fake


@pytest.fixture
def login_of(fake):
    """A factory of logins that are closed at the end."""
    made = []

    def new(kind=CodeLogin, **options):
        made.append(kind(Service(fake.url, TIMEOUT), *CLIENT, CALLBACK, **options))
        return made[-1]

    yield new
    for each in made:
        each.close()


def start(login, session, *arguments, **parameters):
    """The parameters of the authorization request."""
    return dict(parse_qsl(urlsplit(login.login_url(session, *arguments, **parameters)).query))


def answer(fake, sent, **changes):
    """The query of a callback to a request, with changes; None leaves a parameter out."""
    fake.nonce = sent["nonce"]
    query = {"code": "ac_1", "state": sent["state"], "iss": fake.url, **changes}
    return {name: value for name, value in query.items() if value is not None}


def sign_in(fake, login, session=None, **parameters):
    session = {} if session is None else session
    return login.callback(session, answer(fake, start(login, session, **parameters)))


def refused(fake, login, **parameters):
    with pytest.raises(LoginFailed) as caught:
        sign_in(fake, login, **parameters)
    return caught.value


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


def test_an_answer_counts_once(login_of, fake):
    login, session = login_of(), {}
    sent = start(login, session)
    login.callback(session, answer(fake, sent))
    with pytest.raises(LoginFailed, match="unknown_state"):
        login.callback(session, answer(fake, sent))
    assert len(fake.redeemed) == 1


def test_the_answer_to_another_browser_is_refused_before_the_code_is_redeemed(login_of, fake):
    login = login_of()
    sent = start(login, {})
    for session in ({}, {"authsite_login": {}}):
        with pytest.raises(LoginFailed, match="unknown_state"):
            login.callback(session, answer(fake, sent))
    assert fake.redeemed == []


@pytest.mark.parametrize("state", [None, "", "other"])
def test_another_state_is_refused(login_of, fake, state):
    login, session = login_of(), {}
    sent = start(login, session)
    with pytest.raises(LoginFailed, match="unknown_state"):
        login.callback(session, answer(fake, sent, state=state))


@pytest.mark.parametrize("iss", [None, "", "https://evil.example.test"])
def test_the_answer_of_another_server_is_refused(login_of, fake, iss):
    """Mix-up: RFC 9207, section 2.4."""
    login, session = login_of(), {}
    with pytest.raises(LoginFailed, match="wrong_issuer"):
        login.callback(session, answer(fake, start(login, session), iss=iss))
    assert fake.redeemed == []


def test_a_refusal_has_its_code_and_description(login_of, fake):
    login, session = login_of(), {}
    query = answer(
        fake, start(login, session),
        code=None, error="access_denied", error_description="The user said no.",
    )  # fmt: skip
    with pytest.raises(LoginFailed) as caught:
        login.callback(session, query)
    assert (caught.value.error, caught.value.description) == ("access_denied", "The user said no.")


def test_control_characters_of_a_description_reach_no_log(login_of, fake):
    login, session = login_of(), {}
    query = answer(fake, start(login, session), error="x", error_description="a\nb")
    with pytest.raises(LoginFailed) as caught:
        login.callback(session, query)
    assert caught.value.description == ""


def test_an_answer_without_a_code_is_refused(login_of, fake):
    login, session = login_of(), {}
    with pytest.raises(LoginFailed, match="invalid_answer"):
        login.callback(session, answer(fake, start(login, session), code=None))


def test_a_start_is_forgotten_after_an_hour(login_of, fake, frozen_time):
    login, session = login_of(), {}
    sent = start(login, session)
    frozen_time.advance(code_login.MAX_AGE + 1)
    with pytest.raises(LoginFailed, match="unknown_state"):
        login.callback(session, answer(fake, sent))


def test_a_session_keeps_a_few_starts(login_of, fake):
    login, session = login_of(), {}
    sent = [start(login, session) for _ in range(code_login.MAX_STARTED + 1)]
    with pytest.raises(LoginFailed, match="unknown_state"):
        login.callback(session, answer(fake, sent[0]))
    assert login.callback(session, answer(fake, sent[1])).sub == SUB


@pytest.mark.parametrize(
    "place",
    ["//evil.test", "/\\evil.test", "https://evil.test", "/a\\b", "/a\nb", "/\t/b", "x", "", None],
)
def test_another_host_is_never_the_next_page(login_of, fake, place):
    login, session = login_of(), {}
    assert login.callback(session, answer(fake, start(login, session, place))).next == "/"


WRONG = {
    "issuer": {"iss": "https://evil.example.test"},
    "no issuer": {"iss": None},
    "audience": {"aud": "another"},
    "two audiences": {"aud": [CLIENT[0], "another"]},
    "no audience": {"aud": None},
    "authorized party": {"azp": "another"},
    "nonce": {"nonce": "another"},
    "no nonce": {"nonce": None},
    "expired": {"exp": 1_000_000_000},
    "no expiry": {"exp": None},
    "text as expiry": {"exp": "4000000000"},
    "future": {"iat": 4_000_000_000},
    "no user": {"sub": None},
    "number as user": {"sub": 1},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", WRONG)
def test_an_id_token_that_is_not_for_this_sign_in_is_refused(fake, login_of, kind, wrong):
    fake.claims = WRONG[wrong]
    assert refused(fake, login_of(kind)).error == "invalid_id_token"


def test_the_user_of_userinfo_is_that_of_the_id_token(fake, login_of):
    fake.about = {**ABOUT, "sub": "another"}
    assert refused(fake, login_of()).error == "invalid_answer"


def test_max_age_is_checked(fake, login_of, frozen_time):
    fake.claims = {"auth_time": int(frozen_time.now()) - 400}
    assert sign_in(fake, login_of()).sub == SUB
    assert sign_in(fake, login_of(), max_age=400).sub == SUB
    assert refused(fake, login_of(), max_age=300).error == "invalid_id_token"
    fake.claims = {"auth_time": None}
    assert refused(fake, login_of(), max_age=300).error == "invalid_id_token"


def test_clocks_may_differ_by_a_minute(fake, login_of, frozen_time):
    now = int(frozen_time.now())
    fake.claims = {"iat": now + 59, "exp": now - 59}
    assert sign_in(fake, login_of()).sub == SUB


@pytest.mark.parametrize("token", ["", "a.b", "a.b.c", "e30.W10.x", "a.b.c.d"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_token_is_refused(fake, login_of, kind, token):
    fake.id_token = token or "."
    assert refused(fake, login_of(kind)).error == "invalid_id_token"


def test_an_unconfirmed_address_is_no_email(fake, login_of):
    fake.about = {**ABOUT, "email_verified": False}
    assert sign_in(fake, login_of()).email is None
    fake.about = {"sub": SUB, "email": "ann@example.com"}
    assert sign_in(fake, login_of()).email is None


def test_a_code_that_is_not_redeemed_is_an_error_of_the_api(fake, login_of):
    login = login_of()
    fake.server.respond = lambda _: (400, {}, {"error": "invalid_grant", "message": "used"})
    with pytest.raises(ApiError) as caught:
        sign_in(fake, login)
    assert caught.value.code == "invalid_grant"


def test_a_response_without_an_id_token_is_refused(fake, login_of):
    tokens = {"access_token": "at_1", "refresh_token": "rt_1", "expires_in": 600}
    fake.server.respond = lambda _: (200, {}, tokens)
    with pytest.raises(Unreachable, match="no ID token"):
        sign_in(fake, login_of())


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


def test_signatures_are_checked_with_the_extra_alone(fake, login_of):
    fake.key = new_key("of another server")
    assert sign_in(fake, login_of()).sub == SUB
    assert refused(fake, login_of(OidcLogin)).error == "invalid_id_token"


def test_a_token_without_a_signature_is_refused(fake, login_of):
    login, session = login_of(OidcLogin), {}
    query = answer(fake, start(login, session))
    claims = {"iss": fake.url, "sub": SUB, "aud": CLIENT[0], "nonce": fake.nonce}
    fake.id_token = without_signature(claims)
    with pytest.raises(LoginFailed, match="invalid_id_token"):
        login.callback(session, query)


def test_a_token_that_is_too_long_is_not_decoded(fake, login_of):
    fake.id_token = "a" * 9000
    assert refused(fake, login_of(OidcLogin)).error == "invalid_id_token"
    assert fake.asked_for_keys == 0


def test_the_keys_are_read_once_and_again_after_a_rotation(fake, login_of, frozen_time):
    login = login_of(OidcLogin)
    for _ in range(3):
        sign_in(fake, login)
    assert fake.asked_for_keys == 1
    fake.key = new_key("second")
    fake.published.append(fake.key)
    frozen_time.advance(60)
    sign_in(fake, login)
    assert fake.asked_for_keys == 2


def test_tokens_by_unknown_keys_do_not_make_it_ask_for_keys_each_time(fake, login_of, frozen_time):
    login = login_of(OidcLogin)
    fake.key = new_key("of another server")
    frozen_time.advance(60)
    for _ in range(3):
        refused(fake, login)
    assert fake.asked_for_keys == 1
