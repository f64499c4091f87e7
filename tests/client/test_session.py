"""The typed client on a real authsite: logins, verifiers, errors."""

import asyncio

import pytest

from authsite_client import (
    ApiError,
    AsyncSession,
    Client,
    EmailNotVerified,
    Forbidden,
    InsufficientScope,
    InvalidClient,
    InvalidGrant,
    InvalidScope,
    InvalidToken,
    TooManyAttempts,
    UnauthorizedClient,
    Unavailable,
    Unreachable,
    ValidationFailed,
    Verifier,
)
from tests.support.servers import free_port
from tests.support.site import PASSWORD, ClientKeys

ANN = ("ann@example.com", PASSWORD)
WRONG = ClientKeys("6f9619ff-8b86-4d01-b42d-00cf4fc964ff", "wrong")


def test_a_user_logs_in_by_password(live, client_of):
    session = client_of(live()).login(*ANN)
    assert session.user()["email"] == "ann@example.com"
    assert session.access_token().startswith("at_")


def test_a_client_logs_in_for_itself(live, client_of):
    site = live()
    keys = site.client("personal", scope="notes:read")
    session = client_of(site, keys).login_as_client("notes:read")
    with pytest.raises(Forbidden) as raised:
        session.user()
    assert raised.value.code == "user_required"


def test_logout_ends_the_login(live, client_of):
    site = live()
    session = client_of(site).login(*ANN)
    access_token = session.access_token()
    session.logout()
    site.me(access_token, status=401)
    with pytest.raises(InvalidGrant):
        session.user()
    session.logout()  # as RFC 7009 has it, a second time changes nothing


def test_tasks_log_in_call_and_log_out(live, client_of):
    site = live()

    async def run():
        session = AsyncSession(await asyncio.to_thread(client_of(site).login, *ANN))
        user = await session.user()
        named = await session.request("PATCH", "/v1/user", {"name": "Ann"})
        await session.logout()
        return user["email"], named["name"], session.tokens.access_token

    email, name, access_token = asyncio.run(run())
    assert (email, name) == ("ann@example.com", "Ann")
    site.me(access_token, status=401)


def test_a_token_of_the_session_is_verified_by_a_resource_server(live, client_of):
    site = live()
    keys = site.client("resource-server")
    verifier = Verifier(site.service, keys.client_id, keys.client_secret, cache=0)
    session = client_of(site).login(*ANN, scope="notes:read")
    identity = verifier.verify(session.access_token(), "notes:read")
    assert (identity.sub, identity.username) == (session.user()["id"], None)  # not confirmed
    assert (identity.owner, identity.client_id) == ("user", site.keys.client_id)
    assert identity.exp == pytest.approx(session.tokens.expires_at, abs=2)
    with pytest.raises(InsufficientScope):
        verifier.verify(session.access_token(), "notes:write")
    session.logout()
    for token in (session.tokens.access_token, session.tokens.refresh_token, "at_x"):
        with pytest.raises(InvalidToken):
            verifier.verify(token)
    verifier.close()


def test_a_personal_token_is_verified_by_a_resource_server(live, client_of):
    site = live()
    keys = site.client("resource-server")
    verifier = Verifier(site.service, keys.client_id, keys.client_secret, cache=0)
    session = client_of(site).login(*ANN, scope="notes:read")
    asked = {"name": "CI", "scope": "notes:read", "current_password": PASSWORD}
    made = session.request("POST", "/v1/user/tokens", asked)
    identity = verifier.verify(made["token"], "notes:read")
    assert (identity.sub, identity.client_id) == (session.user()["id"], None)
    session.request("DELETE", f"/v1/user/tokens/{made['id']}")
    with pytest.raises(InvalidToken):
        verifier.verify(made["token"])
    verifier.close()


def test_a_verifier_with_wrong_credentials_refuses_with_503(live):
    verifier = Verifier(live().service, WRONG.client_id, WRONG.client_secret)
    with pytest.raises(Unavailable):
        verifier.verify("at_x")
    verifier.close()


def test_a_session_of_a_user_ends_with_its_login(live, client_of):
    site = live()
    session = client_of(site).login(*ANN)
    site.logout(session.access_token())
    with pytest.raises(InvalidGrant):
        session.user()


def test_a_session_of_a_client_logs_in_again(live, client_of):
    site = live()
    session = client_of(site, site.client("personal")).login_as_client()
    site.logout(session.access_token())
    with pytest.raises(Forbidden):
        session.user()
    assert len(site.families()) == 2


def test_while_authsite_is_away_a_token_is_used_until_it_expires(live, client_of, ahead):
    session = client_of(live(expires_in="10m")).login(*ANN)
    first = session.access_token()
    away = Client(f"http://127.0.0.1:{free_port()}", "id", "secret")
    session = away.resume(session.tokens)
    ahead(590)
    assert session.access_token() == first
    ahead(601)
    with pytest.raises(Unreachable):
        session.access_token()


def test_errors_of_the_token_endpoint_can_be_told_apart(live, client_of):
    site = live()
    client = client_of(site)
    with pytest.raises(InvalidGrant) as raised:
        client.login("ann@example.com", "wrong")
    assert (raised.value.status, raised.value.code) == (400, "invalid_grant")
    assert raised.value.request_id
    with pytest.raises(InvalidScope):
        client.login(*ANN, scope="notes:delete")
    with pytest.raises(UnauthorizedClient):
        client.login_as_client().access_token()
    with pytest.raises(InvalidClient):
        client_of(site, WRONG).login(*ANN)


def test_errors_of_the_api_name_the_fields(live, client_of):
    session = client_of(live()).login(*ANN)
    with pytest.raises(ValidationFailed) as raised:
        session.request("PUT", "/v1/user/password", {"current_password": "x", "password": "y"})
    assert {error.field for error in raised.value.errors} >= {"current_password"}
    with pytest.raises(ApiError) as missing:
        session.request("GET", "/v1/nowhere")
    assert (missing.value.status, missing.value.code) == (404, "not_found")


def test_a_limit_says_when_to_try_again(live, client_of):
    site = live(limits="on", **{"limits.client-auth": "1/minute"})
    client = client_of(site, WRONG)
    with pytest.raises(InvalidClient):
        client.login(*ANN)
    with pytest.raises(TooManyAttempts) as raised:
        client.login(*ANN)
    assert 0 < raised.value.retry_after <= 60


def test_tokens_do_not_show_in_a_representation(live, client_of):
    tokens = client_of(live()).login(*ANN).tokens
    assert tokens.access_token not in repr(tokens)
    assert tokens.refresh_token not in repr(tokens)


def test_only_a_confirmed_user_passes_a_verifier_that_wants_one(live, client_of):
    site = live()
    site.user("bo@example.com", confirmed=True)
    keys = site.client("resource-server")
    verifier = Verifier(site.service, keys.client_id, keys.client_secret, verified=True)
    client = client_of(site)
    identity = verifier.verify(client.login("bo@example.com", PASSWORD).access_token())
    assert (identity.username, identity.email_verified) == ("bo@example.com", True)
    with pytest.raises(EmailNotVerified):
        verifier.verify(client.login(*ANN).access_token())
    machine = client_of(site, site.client("personal")).login_as_client()
    assert verifier.verify(machine.access_token()).email is None
    verifier.close()
