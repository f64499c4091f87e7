"""`secret reseal` and `secret retire` with authenticator apps and recovery codes."""

from datetime import timedelta
from uuid import uuid4

import pytest

from authsite.platform.audit.models import AuditEvent
from authsite.platform.crypto.sealing import Binding
from authsite.platform.mail.outbox import OutboxMessage
from authsite.platform.runtime import clock
from authsite.sign_in.methods.recovery_codes.service import PURPOSE, RecoveryCode
from authsite.sign_in.methods.totp.models import SECRET, TotpFactor
from authsite.users.models import User
from tests.cli.test_sealing_key import here, home, sealing, set_key
from tests.support.site import Site

__all__ = ["home"]


@pytest.fixture
def enrolled(home, monkeypatch):
    """Ann with an app and two recovery codes, one of them used; commands run in her service."""
    monkeypatch.delenv("AUTHSITE_ENV_FILE")
    monkeypatch.chdir(home.folder)
    site = Site(home.url)
    site.ann = site.user(confirmed=True)
    yield site
    site.database.dispose()


def enroll(site, keys):
    """The binding of the app's secret."""
    id_, now = uuid4(), clock.now()
    binding = Binding(SECRET, id_, user=site.ann.id)
    with site.db() as db:
        db.add(
            TotpFactor(
                id=id_, user_id=site.ann.id, secret=keys.seal(b"seed", binding), digits=6,
                period=30, algorithm="SHA1", last_step=0, failures=0, created_at=now,
            )
        )  # fmt: skip
        for used_at in (None, now):
            mac = keys.macs(PURPOSE, uuid4().bytes)[0]
            row = RecoveryCode(id=uuid4(), user_id=site.ann.id, mac=mac, created_at=now)
            row.used_at = used_at
            db.add(row)
    return binding


def opened(site, keys, binding):
    with site.db() as db:
        return keys.open(db.query(TotpFactor).one().secret, binding)


def two_hours_later(site):
    """As if the rotation had been two hours ago, so that all processes are reloaded."""
    with site.db() as db:
        for event in db.query(AuditEvent).filter_by(event="secret.rotated"):
            event.at -= timedelta(hours=2)


def test_a_key_is_not_removed_before_apps_are_resealed_and_codes_made_again(home, enrolled):
    binding = enroll(enrolled, sealing(home))
    here("secret", "rotate", "--sealing-key", "--at-once")
    two_hours_later(enrolled)
    said = here("secret", "retire", "--sealing-key", "--force", status=1)
    assert "1 values (second factors, keys)" in said
    resealed = here("secret", "reseal")
    assert "1 values have a new seal" in resealed
    assert "1 recovery codes of another key remain" in resealed
    assert opened(enrolled, sealing(home), binding) == b"seed"
    said = here("secret", "retire", "--sealing-key", status=1)
    assert "1 recovery codes of 1 users, until these make new ones" in said
    assert "ann@example.com" in said
    with enrolled.db() as db:
        db.query(RecoveryCode).filter(RecoveryCode.used_at.is_(None)).delete()
    here("secret", "retire", "--sealing-key")
    assert opened(enrolled, sealing(home), binding) == b"seed"


def test_where_the_key_is_derived_a_secret_is_not_removed_before_that(home, enrolled):
    set_key(home, None)
    home.run("secret", "accept")
    binding = enroll(enrolled, sealing(home))
    here("secret", "rotate", "--at-once")
    assert "second factors" in here("secret", "retire", "--force", status=1)
    here("secret", "reseal")
    assert "1 recovery codes of 1 users" in here("secret", "retire", status=1)
    here("secret", "retire", "--force")
    assert opened(enrolled, sealing(home), binding) == b"seed"


def rotated(home, enrolled):
    """A rotation after which only recovery codes need the old key."""
    enroll(enrolled, sealing(home))
    here("secret", "rotate", "--sealing-key", "--at-once")
    two_hours_later(enrolled)
    here("secret", "reseal")


def test_codes_of_who_has_not_signed_in_for_a_year_hinder_no_rotation(home, enrolled):
    rotated(home, enrolled)
    for days, refused in ((364, True), (366, False)):
        with enrolled.db() as db:
            db.get(User, enrolled.ann.id).last_sign_in_at = clock.now() - timedelta(days=days)
        said = here("secret", "retire", "--sealing-key", status=int(refused))
        assert ("ann@example.com" in said) is refused


def test_codes_can_be_ended_and_their_users_hear_of_it(home, enrolled):
    rotated(home, enrolled)
    said = here("secret", "retire", "--sealing-key", "--codes-end")
    assert "1 recovery codes have ended, with a mail to their users." in said
    with enrolled.db() as db:
        assert db.query(RecoveryCode).all() == []
        [mail] = db.query(OutboxMessage).filter_by(kind="recovery_codes_ended")
        assert mail.address == "ann@example.com"
        [event] = db.query(AuditEvent).filter_by(event="factor.removed")
        assert event.details["kind"] == "recovery_code"


def test_a_rotation_of_the_pepper_ends_no_codes_and_says_so(home):
    assert "leave it out" in here("secret", "retire", "--pepper", "--codes-end", status=2)


def test_no_code_ends_where_the_key_is_not_removed(home, enrolled):
    """Processes may still use the old key within an hour of the rotation."""
    enroll(enrolled, sealing(home))
    here("secret", "rotate", "--sealing-key", "--at-once")
    here("secret", "reseal")
    assert "not reloaded" in here("secret", "retire", "--sealing-key", "--codes-end", status=1)
    with enrolled.db() as db:
        assert db.query(RecoveryCode).count() == 2
        assert db.query(OutboxMessage).filter_by(kind="recovery_codes_ended").all() == []
