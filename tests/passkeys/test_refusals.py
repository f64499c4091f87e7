"""Why a passkey was refused: each reason is in the log and the audit trail, and in no answer."""

import json

import cbor2
import pytest
from sqlalchemy import select
from structlog.testing import capture_logs

from authsite.platform.audit.models import AuditEvent
from authsite.sign_in.methods.passkeys.failures import PasskeyFailure
from tests.support.authenticator import UP, Authenticator, Ec2, Okp, text_of
from tests.support.in_process import Commands
from tests.support.site import bearer

from .passkey_users import post, register, sign_in, sign_in_options
from .test_api import options, proved

HERE = "http://localhost"
USES = {
    "origin": ({"origin": "http://127.0.0.1"}, "http://127.0.0.1", HERE),
    "port": ({"origin": "http://localhost:81"}, "http://localhost:81", HERE),
    "rp_id": ({"rp_id": "other.localhost"}, None, "localhost"),
    "user_verification": ({"unverified": True}, None, None),
    "user_presence": ({"flip": UP}, None, None),
    "backup": ({"synced": False}, "not eligible for backup", "eligible for backup"),
    "backup flags": ({"flip": 0x08}, "backed up, and not eligible for it", None),
    "cross_origin": ({"client_data": {"topOrigin": "https://evil.example"}}, None, None),
    "ceremony": ({"type": "webauthn.create"}, "webauthn.create", "webauthn.get"),
    "signature": ({"signer": Ec2()}, None, None),
    "user_handle": ({"handle": text_of(bytes(32))}, None, None),
    "challenge": ({"challenge": text_of(bytes(32))}, None, None),
    "malformed": ({"response": {"authenticatorData": "AAAA"}}, None, None),
}
NAMES = {"port": "origin", "backup flags": "backup"}


@pytest.fixture
def ann(site):
    return site.user(confirmed=True)


def last(site, name):
    with site.db() as db:
        found = select(AuditEvent).where(AuditEvent.event == name).order_by(AuditEvent.id.desc())
        return db.scalars(found).first()


def summary(answer):
    return answer.html.select_one(".summary").get_text()


@pytest.mark.parametrize("case", USES)
def test_a_refused_use_has_its_reason(site, ann, tmp_path, case):
    wrong, sent, expected = USES[case]
    own = register(site, ann)
    with capture_logs() as logs:
        answer = sign_in(site, own, **wrong)
    details, name = last(site, "login.failed").details, NAMES.get(case, case)
    assert (details["reason"], details["check"]) == ("wrong_passkey", name)
    assert sent is None or details["sent"] == sent
    assert expected is None or details["expected"] == expected
    [logged] = [each for each in logs if each["event"] == "passkey_refused"]
    assert logged["check"] == name
    explained = Commands(site, tmp_path).run("explain", answer.headers["X-Request-Id"]).stdout
    meaning = next(each.meaning for each in PasskeyFailure if each == name)
    assert " ".join(meaning.split()) in " ".join(explained.split())
    # The person reads the same after each.
    assert "needs your password once" in summary(answer)


def test_an_unknown_one_and_one_that_was_used_before_have_theirs(site, ann):
    own = register(site, ann)
    stranger = Authenticator()
    stranger.handle = own.handle
    sign_in(site, stranger)
    assert last(site, "login.failed").details == {"reason": "unknown_passkey", "check": "unknown"}
    credential = json.dumps(own.get(sign_in_options(site)))
    assert post(site, credential).status_int == 303
    keep = dict(site.http.cookies)
    site.new_browser()
    site.http.set_cookie("authsite-csrf", keep["authsite-csrf"].strip('"'))
    post(site, credential)
    assert last(site, "login.failed").details["check"] == "replayed"


def test_a_counter_that_went_back_names_both(site, ann):
    own = register(site, ann, Authenticator(synced=False, counts=True), counter=9)
    sign_in(site, own, counter=9)
    details = last(site, "login.failed").details
    assert (details["check"], details["sent"], details["expected"]) == (
        "counter", "9", "more than 9",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("", "nothing"),
        ("{", "no JSON"),
        ("[]", "no object with an id"),
        ('{"id": "YWJj="}', "id: YWJj="),
        (json.dumps({"id": "x", "fill": "y" * 17_000}), "over 16384 bytes"),
    ],
)
def test_what_is_not_the_json_of_a_credential_is_named(site, ann, text, sent):
    post(site, text)
    details = last(site, "login.failed").details
    assert (details["check"], details["sent"]) == ("malformed", sent)


REGISTRATIONS = {
    "origin": {"origin": "https://localhost"},
    "rp_id": {"rp_id": "localhost.example"},
    "ceremony": {"type": "webauthn.get"},
    "user_presence": {"flip": UP},
    "challenge": {"challenge": text_of(bytes(32))},
    "cross_origin": {"client_data": {"crossOrigin": True}},
    "attestation": {"statement": {"fmt": "tpm", "attStmt": {}}},
    "algorithm": {"cose": {**Ec2().cose, 3: -35}},
    "malformed": {"response": {"attestationObject": text_of(cbor2.dumps([]))}},
}


@pytest.mark.parametrize("check", REGISTRATIONS)
def test_a_refused_registration_has_its_reason(site_with, tmp_path, check):
    site = site_with(limits="on")
    site.user(confirmed=True)
    headers = bearer(site.login(site.client())["access_token"])
    proved(site, "pwd", "email", "otp")
    found = options(site, headers)
    made = Authenticator(Okp()).create(found, **REGISTRATIONS[check])
    given = {"credential": made}
    answer = site.http.post_json("/v1/user/passkeys", given, headers=headers, status=422)
    assert answer.json["errors"][0]["code"] == "invalid_credential"
    assert last(site, "passkey.refused").details["check"] == check
    explained = Commands(site, tmp_path).run("explain", answer.headers["X-Request-Id"]).stdout
    meaning = next(each.meaning for each in PasskeyFailure if each == check)
    assert " ".join(meaning.split()) in " ".join(explained.split())


def test_every_reason_has_words_for_the_operator():
    assert all(each.meaning.endswith(".") for each in PasskeyFailure)
