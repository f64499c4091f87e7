"""What administrators do with factors at the command line."""

import json

import pytest

from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from authsite.sign_in.method import Wrong
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.users.models import User
from tests.support import factors
from tests.support.in_process import Commands
from tests.support.notices import site_of_ann
from tests.support.pages import sign_in
from tests.support.site import PASSWORD

ANN = "ann@example.com"


@pytest.fixture
def site(site_with, frozen):
    return site_of_ann(site_with)


@pytest.fixture
def commands(site, tmp_path):
    return Commands(site, tmp_path)


def test_the_factors_of_a_user_are_listed_without_a_secret(site, commands):
    empty = commands.json("user", "factors", ANN)
    assert (empty["asked"], empty["totp"], empty["passkeys"]) == (False, None, [])
    codes = factors.add_totp(site, site.ann)
    factors.add_passkey(site, site.ann, name="Blue key")
    found = commands.json("user", "factors", ANN)
    assert found["asked"]
    assert found["totp"]["usable"]
    assert [each["name"] for each in found["passkeys"]] == ["Blue key"]
    assert found["recovery_codes"] == 8
    said = commands.run("user", "factors", ANN).stdout
    assert "Blue key" in said
    for text in (said, json.dumps(found)):
        assert "GEZDGNBV" not in text  # the secret in base32
        assert all(code not in text for code in codes)


def test_a_factor_that_no_key_opens_is_listed_as_such(site, commands):
    factors.add_totp(site, site.ann)
    with site.db() as db:
        row = db.query(TotpFactor).one()
        row.secret = f"{'0' * 12}.{row.secret.partition('.')[2]}"
    assert commands.json("user", "factors", ANN)["totp"]["usable"] is False
    assert "no sealing key opens it" in commands.run("user", "factors", ANN).stdout


def test_a_reset_removes_all_ends_the_sign_ins_mails_and_records_why(site, commands):
    sign_in(site)
    tokens = site.login(site.keys)
    factors.add_totp(site, site.ann)
    factors.add_passkey(site, site.ann)
    site.mails()
    key = factors.pending_key(site, PASSWORD)
    done = commands.json("user", "reset-factors", ANN, "--reason", "lost the phone, called back")
    assert (done["removed_totp"], done["removed_passkeys"]) == (True, 1)
    assert done["removed_recovery_codes"] == 8
    assert factors.left(site, site.ann) == {"totp": 0, "passkeys": 0, "codes": 0}
    site.me(tokens["access_token"], status=401)
    site.http.get("/account", status=302)
    with pytest.raises(factors.gate.PendingEnded):
        factors.resume(site, key, "totp", code=factors.code_now())
    [mail] = site.mails()
    assert "second factors of your account" in mail["Subject"]
    with site.db() as db:
        event = db.query(AuditEvent).filter_by(event="factor.reset").one()
    assert event.details == {
            "actor": {"kind": "command", "id": None}, "reason": "lost the phone, called back"
        }  # fmt: skip
    assert factors.next_steps(site, PASSWORD) == "complete"
    site.login(site.keys)


@pytest.mark.parametrize("reason", ["", "   ", "two\nlines", "x" * 201])
def test_a_reset_needs_one_line_of_reason(site, commands, reason):
    factors.add_totp(site, site.ann)
    said = commands.run("user", "reset-factors", ANN, "--reason", reason, status=1).stderr
    assert "one line" in said
    assert factors.left(site, site.ann)["totp"] == 1


def test_a_restored_backup_accepts_no_present_code(site, commands, frozen):
    """Those of now may have been used since the backup was made."""
    factors.add_totp(site, site.ann)
    commands.run("db", "after-restore")
    key = factors.pending_key(site, PASSWORD)
    for steps in (-1, 0, 1):
        done = factors.resume(site, key, "totp", code=factors.code_now(steps=steps))
        assert done == Wrong("code_used")
    frozen.set_unix(clock.now().timestamp() + 60)
    done = factors.resume(site, key, "totp", code=factors.code_now())
    assert isinstance(done, factors.gate.Complete)


def test_a_step_that_was_used_later_stays_used_after_a_restore(site, commands, frozen):
    factors.add_totp(site, site.ann)
    late = int(frozen.at.timestamp()) // 30 + 100  # of a clock that was ahead
    with site.db() as db:
        db.query(TotpFactor).one().last_step = late
    commands.run("db", "after-restore")
    with site.db() as db:
        assert db.query(TotpFactor).one().last_step == late


def test_the_tables_of_a_user_go_with_an_erasure_and_the_export_has_no_secret(site, commands):
    codes = factors.add_totp(site, site.ann)
    factors.add_passkey(site, site.ann)
    exported = commands.run("user", "export", ANN).stdout
    data = json.loads(exported)
    assert len(data["totp_factors"]) == 1
    assert len(data["passkeys"]) == 1
    assert len(data["recovery_codes"]) == 8
    with site.db() as db:
        secret = db.query(TotpFactor).one().secret
    assert secret not in exported
    assert "mac" not in data["recovery_codes"][0]
    assert all(code not in exported for code in codes)
    commands.run("user", "delete", ANN, "--yes")
    assert factors.left(site, site.ann) == {"totp": 0, "passkeys": 0, "codes": 0}
    with site.db() as db:
        assert db.get(User, site.ann.id) is None
