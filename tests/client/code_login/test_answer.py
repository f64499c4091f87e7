"""`CodeLogin`: a sign-in that another browser, server or application answers."""

import pytest

from authsite_client import ApiError, LoginFailed, Unreachable, code_login
from tests.client.code_login.steps import answer, refused, sign_in, start
from tests.client.signing import ABOUT, SUB


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


def test_the_user_of_userinfo_is_that_of_the_id_token(fake, login_of):
    fake.about = {**ABOUT, "sub": "another"}
    assert refused(fake, login_of()).error == "invalid_answer"


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
