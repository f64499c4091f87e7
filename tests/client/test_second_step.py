"""The Python client at a login with a second step."""

import asyncio

import pytest

from authsite_client import (
    AsyncClient,
    Client,
    Enrollment,
    InvalidGrant,
    MfaRequired,
    Unreachable,
)
from tests.client.conftest import CLIENT

PAIR = {"token_type": "Bearer", "expires_in": 600, "access_token": "at_1", "refresh_token": "rt_1"}
REQUIRED = {
    "error": "mfa_required",
    "error_description": "Enter a code.",
    "message": "Enter a code.",
    "mfa_token": "mt_1",
    "expires_in": 600,
    "mfa_methods": ["passkey", "totp"],
    "mfa_enroll": False,
    "passkey_options": {"challenge": "AAEC"},
}
MFA = "urn:authsite:params:oauth:grant-type:mfa"
NEW = {"secret": "JBSWY3DP", "otpauth_uri": "otpauth://x", "qr_svg": "<svg/>", "enrollment": "et_1"}


@pytest.fixture
def client(server):
    made = Client(server.url, *CLIENT)
    yield made
    made.close()


def answering(server, *answers):
    waiting = list(answers)
    server.respond = lambda request: waiting.pop(0)


def test_a_login_says_what_it_needs_and_goes_on(server, client):
    answering(server, (400, {}, REQUIRED), (200, {}, PAIR))
    saved = []
    with pytest.raises(MfaRequired) as raised:
        client.login("ann", "secret", "a", saved.append)
    needed = raised.value
    assert (needed.code, needed.status, needed.mfa_token) == ("mfa_required", 400, "mt_1")
    assert (needed.expires_in, needed.methods, needed.enroll) == (600, ("passkey", "totp"), False)
    assert needed.passkey_options == {"challenge": "AAEC"}
    assert saved == []
    session = client.second_step(needed.mfa_token, "totp", "123456", save=saved.append)
    assert server.requests[-1].form == {
        "grant_type": MFA, "mfa_token": "mt_1", "mfa_method": "totp", "code": "123456",
    }  # fmt: skip
    assert saved == [session.tokens]
    assert session.recovery_codes == ()


def test_a_code_comes_with_the_password(server, client):
    answering(server, (200, {}, PAIR))
    client.login("ann", "secret", otp="123456")
    assert server.requests[-1].form["otp"] == "123456"


def test_a_wrong_code_is_told_from_a_login_that_has_ended(server, client):
    wrong = {"error": "invalid_grant", "message": "Wrong.", "errors": [
        {"code": "invalid_code", "field": "code", "message": "Wrong."}]}  # fmt: skip
    answering(server, (400, {}, wrong), (400, {}, {**wrong, "errors": []}))
    for codes in (["invalid_code"], []):
        with pytest.raises(InvalidGrant) as raised:
            client.second_step("mt_1", "totp", "000000")
        assert [each.code for each in raised.value.errors] == codes


def test_a_new_app_is_added_at_a_login(server, client):
    added = {**PAIR, "recovery_codes": ["AAAA-BBBB"]}
    answering(server, (202, {}, {"message": "Sent."}), (200, {}, NEW), (200, {}, added))
    client.mail_code("mt_1")
    assert (server.requests[-1].path, server.requests[-1].form) == (
        "/v1/mfa/email", {"mfa_token": "mt_1"},
    )  # fmt: skip
    new = client.enroll("mt_1")
    assert new == Enrollment(**NEW)
    assert "JBSWY3DP" not in repr(new)
    session = client.second_step("mt_1", "totp", "123456", enrollment=new.enrollment)
    assert session.recovery_codes == ("AAAA-BBBB",)
    assert server.requests[-1].form["enrollment"] == "et_1"


def test_a_passkey_signs_in_alone(server, client):
    answering(server, (200, {}, {"challenge": "AAEC"}), (200, {}, PAIR))
    assert client.passkey_options() == {"challenge": "AAEC"}
    assert server.requests[-1].path == "/v1/passkeys/options"
    client.login_by_passkey('{"id":"AAEC"}', "a")
    assert server.requests[-1].form == {
        "grant_type": "urn:authsite:params:oauth:grant-type:passkey",
        "credential": '{"id":"AAEC"}',
        "scope": "a",
    }


@pytest.mark.parametrize(
    "answer", [{}, [], {**NEW, "secret": 1}, {name: NEW[name] for name in ("secret", "qr_svg")}]
)
def test_an_answer_without_an_enrollment_is_not_one(server, client, answer):
    answering(server, (200, {}, answer))
    with pytest.raises(Unreachable):
        client.enroll("mt_1")


def test_an_answer_that_says_too_little_is_still_an_error(server, client):
    answering(server, (400, {}, {"error": "mfa_required", "mfa_methods": 1, "expires_in": "x"}))
    with pytest.raises(MfaRequired) as raised:
        client.login("ann", "secret")
    assert (raised.value.mfa_token, raised.value.methods, raised.value.expires_in) == ("", (), 0)


def test_all_of_it_as_coroutines(server):
    async def steps():
        client = AsyncClient(server.url, *CLIENT)
        with pytest.raises(MfaRequired):
            await client.login("ann", "secret", otp="1")
        await client.mail_code("mt_1")
        new = await client.enroll("mt_1")
        session = await client.second_step("mt_1", "totp", "1", enrollment=new.enrollment)
        assert session.recovery_codes == ("AAAA-BBBB",)
        options = await client.passkey_options()
        await client.login_by_passkey(str(options))
        client.close()

    answering(
        server,
        (400, {}, REQUIRED),
        (202, {}, {}),
        (200, {}, NEW),
        (200, {}, {**PAIR, "recovery_codes": ["AAAA-BBBB"]}),
        (200, {}, {}),
        (200, {}, PAIR),
    )
    asyncio.run(steps())
