"""Second factors that move: from another authsite with secrets, and from django-allauth."""

import json

import pytest
from click.testing import CliRunner
from sqlalchemy import select

from authsite.cli import authsite
from authsite.platform.settings import new_sealing_key, new_secret
from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.sign_in.methods.recovery_codes.service import RecoveryCode
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.transfer.importing.django import user_handle
from authsite.users.models import User
from tests.support import databases, factors
from tests.support import foreign_systems as other
from tests.support.authenticator import Authenticator, text_of
from tests.support.in_process import write_ini
from tests.support.site import PASSWORD

BASE32 = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
AUTHENTICATORS = ("id", "user_id", "type", "data", "created_at", "last_used_at")
MADE = "2021-03-04 05:06:07.123456+00:00"


def export(site, tmp_path, *options, **settings):
    path = tmp_path / "authsite.jsonl"
    path.unlink(missing_ok=True)
    ini = write_ini(tmp_path / "from.ini", site.url, **settings)
    given = ["export", *options, "--output", str(path), "--config", ini]
    done = CliRunner().invoke(authsite, given)
    assert done.exit_code == 0, done.output
    return path


@pytest.fixture
def full(site, frozen):
    """A site with Ann, who has everything, and Bo, who has a passkey alone."""
    ann, bo = site.user(confirmed=True), site.user("bo@example.com", confirmed=True)
    site.codes = factors.add_totp(site, ann)
    factors.add_passkey(site, ann, name="Blue key")
    factors.add_passkey(site, bo)
    frozen.advance(60)
    return site


def rows_of(site):
    """All rows of factors, and the state of their users; secrets opened."""
    with site.db() as db:
        ctx = factors.context(site, db)
        found = []
        for model in (TotpFactor, Passkey, RecoveryCode):
            for row in db.scalars(select(model)):
                values = {c.key: getattr(row, c.key) for c in model.__table__.columns}
                values.pop("id") if model is not TotpFactor else None
                if model is TotpFactor:
                    binding = factors.Binding("totp", values.pop("id"), user=row.user_id)
                    values["secret"] = ctx.services.sealing.open(row.secret, binding)
                found.append(repr(sorted(values.items())))
        state = [
            (each.email, each.second_factor_at, each.factors_since, each.passkey_after_password)
            for each in db.scalars(select(User).order_by(User.email))
        ]
    return sorted(found), state


def test_factors_move_with_secrets_and_are_asked_for(full, importing, tmp_path, frozen):
    path, before = export(full, tmp_path, "--secrets"), rows_of(full)
    databases.empty(full.database)
    done = importing("authsite", path)
    assert done["totp"] == {"imported": 1, "present": 0, "refused": 0}
    assert done["passkeys"]["imported"] == 2
    assert done["recovery_codes"]["imported"] == 16
    assert rows_of(full) == before
    steps = ("passkey", "totp", "recovery_code")
    assert factors.next_steps(full, PASSWORD) == steps
    assert factors.next_steps(full, PASSWORD, "bo@example.com") == "complete"
    key = factors.pending_key(full, PASSWORD)
    assert isinstance(
        factors.resume(full, key, "totp", code=factors.code_now()), factors.gate.Complete
    )
    key = factors.pending_key(full, PASSWORD)
    done = factors.resume(full, key, "recovery_code", code=full.codes[0])
    assert isinstance(done, factors.gate.Complete)
    again = importing("authsite", path)
    assert (again["totp"]["present"], again["passkeys"]["present"]) == (1, 2)
    assert again["recovery_codes"] == {"imported": 0, "present": 16, "refused": 0}


def test_without_secrets_no_factor_moves_and_none_is_asked_for(full, importing, tmp_path):
    path = export(full, tmp_path)
    text = path.read_text()
    assert BASE32 not in text
    assert '"type": "passkey"' not in text
    assert json.loads(text.splitlines()[0])["secrets"] is False
    databases.empty(full.database)
    done = importing("authsite", path)
    assert "totp" not in done
    assert factors.next_steps(full, PASSWORD) == "complete"


def test_recovery_codes_of_another_sealing_key_are_refused(full, importing, tmp_path):
    path = export(full, tmp_path, "--secrets")
    databases.empty(full.database)
    done = importing("authsite", path, **{"sealing-key": new_sealing_key(), "secret": new_secret()})
    assert done["totp"]["imported"] == 1  # sealed under the key of this installation
    assert done["recovery_codes"] == {"imported": 0, "present": 0, "refused": 16}
    assert "another sealing key" in done["rows"][-1]["reason"]


def test_a_secret_that_no_key_opens_stays_asked_for(full, importing, tmp_path):
    with full.db() as db:
        row = db.query(TotpFactor).one()
        row.secret = f"{'0' * 12}.{row.secret.partition('.')[2]}"
    path = export(full, tmp_path, "--secrets")
    databases.empty(full.database)
    done = importing("authsite", path)
    assert done["totp"]["refused"] == 1
    assert factors.next_steps(full, PASSWORD) == ("passkey", "recovery_code")


def test_a_dry_run_writes_no_factor(full, importing, tmp_path):
    path = export(full, tmp_path, "--secrets")
    databases.empty(full.database)
    done = importing("authsite", path, "--dry-run")
    assert done["totp"]["imported"] == 1
    assert rows_of(full) == ([], [])


def authenticator_row(number, user, kind, data, **more):
    return {
        "id": number, "user_id": user, "type": kind, "data": json.dumps(data),
        "created_at": MADE, "last_used_at": None, **more,
    }  # fmt: skip


def registered(rp_id="localhost", user="1"):
    """A passkey, and what allauth has stored of its registration."""
    made = Authenticator()
    options = {
        "rp": {"id": rp_id}, "challenge": text_of(b"c" * 32),
        "user": {"id": text_of(user_handle(user))},
    }  # fmt: skip
    return made, made.create(options)


def test_authenticator_apps_and_passkeys_of_allauth(site, importing, tmp_path, frozen):
    made, credential = registered()
    _elsewhere, foreign = registered("shop.example.org")
    users = [other.django_user(number) for number in (1, 2, 3)]
    rows = [
        authenticator_row(1, 1, "totp", {"secret": BASE32}),
        authenticator_row(2, 2, "totp", {"secret": "gAAAAABl:encrypted-by-an-adapter="}),
        authenticator_row(3, 1, "webauthn", {"name": "My key", "credential": credential}),
        authenticator_row(4, 2, "webauthn", {"name": "Other", "credential": foreign}),
        authenticator_row(5, 1, "recovery_codes", {"seed": "abc", "used_mask": 0}),
        authenticator_row(6, 9, "totp", {"secret": BASE32}),
        authenticator_row(7, 3, "webauthn", {"name": "Broken", "credential": {"response": {}}}),
    ]
    tables = {"auth_user": (other.DJANGO_USERS, users), "mfa_authenticator": (AUTHENTICATORS, rows)}
    dump = tmp_path / "shop.sql"
    dump.write_text(other.postgresql_dump(**tables))
    without = importing("django", dump, "--confirmed", "--dry-run")
    assert "factors" not in without
    done = importing("django", dump, "--confirmed", "--factors")
    assert done["factors"] == {"imported": 2, "present": 0, "refused": 5}
    reasons = {row["source_id"]: row["reason"] for row in done["rows"] if row["table"] == "factors"}
    assert "encrypted" in reasons["2"]
    assert "another RP ID" in reasons["4"]
    assert "make new ones" in reasons["5"]
    assert "no user" in reasons["6"]
    assert "cannot" in reasons["7"] or "no credential" in reasons["7"]
    with site.db() as db:
        ann = db.scalars(select(User).where(User.email == "user1@example.com")).one()
        app = db.scalars(select(TotpFactor)).one()
        key = db.scalars(select(Passkey)).one()
        assert key.uv_initialized is False
        opened = factors.context(site, db).services.sealing.open(
            app.secret, factors.Binding("totp", app.id, user=ann.id)
        )
    assert (app.user_id, opened) == (ann.id, b"12345678901234567890")
    assert (key.credential_id, key.name) == (text_of(made.id), "My key")
    assert key.user_handle == text_of(b"1")
    assert key.rp_id == "localhost"
    assert ann.second_factor_at is not None
    assert ann.factors_since == app.created_at
    again = importing("django", dump, "--confirmed", "--factors")
    assert again["factors"]["present"] == 2


def test_a_security_key_of_allauth_is_asked_for_after_the_password(site, importing, tmp_path):
    _made, credential = registered()
    rows = [authenticator_row(3, 1, "webauthn", {"name": "Key", "credential": credential})]
    dump = tmp_path / "shop.sql"
    users = [other.django_user(1)]
    tables = {"auth_user": (other.DJANGO_USERS, users), "mfa_authenticator": (AUTHENTICATORS, rows)}
    dump.write_text(other.postgresql_dump(**tables))
    importing("django", dump, "--confirmed", "--factors")
    with site.db() as db:
        ann = db.scalars(select(User)).one()
    assert ann.second_factor_at is not None
    assert ann.passkey_after_password


@pytest.mark.parametrize(
    ("id_", "handle"),
    [("1", b"1"), ("36", b"10"), ("12345", b"9ix"),
     ("6F9619FF-8B86-D011-B42D-00CF4FC964FF", b"6f9619ff8b86d011b42d00cf4fc964ff"),
     ("6f9619ff8b86d011b42d00cf4fc964ff", b"6f9619ff8b86d011b42d00cf4fc964ff"),
     ("ann", b"ann")],
)  # fmt: skip
def test_the_handle_is_the_one_that_allauth_gives(id_, handle):
    assert user_handle(id_) == handle
