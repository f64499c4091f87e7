"""`CodeLogin` and `OidcLogin`: ID tokens that are not for this sign-in, and their signatures."""

import pytest

from authsite_client import LoginFailed
from authsite_client.oidc import OidcLogin
from tests.client.code_login.steps import KINDS, answer, refused, sign_in, start
from tests.client.conftest import CLIENT
from tests.client.signing import ABOUT, SUB, new_key, without_signature

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
    "not yet": {"nbf": 4_000_000_000},
    "text as beginning": {"nbf": "1"},
    "no user": {"sub": None},
    "number as user": {"sub": 1},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", WRONG)
def test_an_id_token_that_is_not_for_this_sign_in_is_refused(fake, login_of, kind, wrong):
    fake.claims = WRONG[wrong]
    assert refused(fake, login_of(kind)).error == "invalid_id_token"


def test_max_age_is_checked(fake, login_of, frozen_time):
    fake.claims = {"auth_time": int(frozen_time.now()) - 400}
    assert sign_in(fake, login_of()).sub == SUB
    assert sign_in(fake, login_of(), max_age=400).sub == SUB
    assert refused(fake, login_of(), max_age=300).error == "invalid_id_token"
    fake.claims = {"auth_time": None}
    assert refused(fake, login_of(), max_age=300).error == "invalid_id_token"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("wanted", "acr", "error"),
    [
        ("aal2", "aal1", "unmet_authentication_requirements"),
        ("aal2", None, "unmet_authentication_requirements"),
        ("phr", "aal2", "unmet_authentication_requirements"),
        ("phr aal2", "aal1", "unmet_authentication_requirements"),
        ("https://example.org/gold", "phr", "unmet_authentication_requirements"),
        ("aal2", ["aal2"], "unmet_authentication_requirements"),
        ("aal2", "aal2", None),
        ("aal2", "phr", None),
        ("phr aal2", "aal2", None),  # of several the lowest is enough
        ("aal2 https://example.org/gold", "https://example.org/gold", None),
        ("", "aal1", None),
    ],
)
def test_the_level_that_was_asked_for_is_compared(fake, login_of, kind, wanted, acr, error):
    """The parameter goes through the browser, whose person may remove it."""
    fake.claims = {"acr": acr}
    if error:
        assert refused(fake, login_of(kind), acr_values=wanted).error == error
    else:
        assert sign_in(fake, login_of(kind), acr_values=wanted).sub == SUB
    assert sign_in(fake, login_of(kind)).sub == SUB  # without the wish no level is too low


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("typ", ["at+jwt", "logout+jwt", "application/at+jwt"])
def test_a_token_of_another_kind_is_refused(fake, login_of, kind, typ):
    fake.header = {"typ": typ}
    assert refused(fake, login_of(kind)).error == "invalid_id_token"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("typ", ["JWT", "jwt", "application/jwt"])
def test_an_id_token_may_name_its_kind(fake, login_of, kind, typ):
    fake.header = {"typ": typ}
    assert sign_in(fake, login_of(kind)).sub == SUB


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_signed_counts_before_what_userinfo_says(fake, login_of, kind):
    fake.claims = {"acr": "aal1", "auth_time": 5}
    fake.about = {**ABOUT, "acr": "phr", "auth_time": 6, "nickname": "annie"}
    user = sign_in(fake, login_of(kind))
    assert (user.claims["acr"], user.claims["auth_time"]) == ("aal1", 5)
    assert user.claims["nickname"] == "annie"


def test_clocks_may_differ_by_a_minute(fake, login_of, frozen_time):
    now = int(frozen_time.now())
    fake.claims = {"iat": now + 59, "nbf": now + 59, "exp": now - 59}
    assert sign_in(fake, login_of()).sub == SUB


@pytest.mark.parametrize("token", ["", "a.b", "a.b.c", "e30.W10.x", "a.b.c.d"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_token_is_refused(fake, login_of, kind, token):
    fake.id_token = token or "."
    assert refused(fake, login_of(kind)).error == "invalid_id_token"


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
