"""A trail that one version has sealed verifies with another: what a seal covers never changes."""

from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import delete, insert

from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.seals.proofs import is_ours, new_seal
from authsite.platform.audit.seals.seal import AuditKey, Segment
from authsite.platform.audit.seals.table import read_segment
from authsite.platform.audit.service import Cause
from authsite.platform.crypto.keys import key_of

AT = datetime(2026, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)
USER = UUID("0a8c1f0e-5b6f-4c8e-9f57-2f1d0f0a9d11")
# Computed once, from the same rows, and never again.
DIGESTS = {
    "sqlite": "d681bb3a328d7c70ebe2531c69042cbbab7daa51d9fd0a90f430257e85235a51",
    "postgresql": "0f6279a03eae8643871d9a5584b44f36126a207a26eff3edb6c29b969637b3e3",
}
MAC = "6cd35c292ba0942c477e3e8dedcf174af665abb3106440e1f9334017a1167bad"


def test_events_with_actor_and_reason_have_the_digest_of_every_version(site):
    rows = (
        {"event": "login.failed", "user_id": USER, "address": "203.0.113.7", "details": None},
        {"event": "user.disabled", "details": Cause("user", str(USER), "Grüße").details()},
        {"event": "admin.granted", "details": Cause("command").details(group="authsite:owner")},
    )
    with site.db() as db:
        db.execute(delete(AuditEvent))
        for number, row in enumerate(rows, 1):
            db.execute(insert(AuditEvent).values(id=number, at=AT, agent="x", **row))
    with site.database.autocommit.connect() as connection:
        segment = read_segment(connection, None, 3)
    assert segment.digest == DIGESTS[site.database.autocommit.dialect.name]


def test_a_seal_of_the_former_version_is_ours():
    key = AuditKey(key_of(b"k" * 32))
    segment = Segment(3, 1, 3, AT, "d" * 64, "")
    seal = new_seal(key.key, 1, None, segment)
    former = seal._replace(at="2026-05-01 12:00:01.000000", mac=MAC)
    assert is_ours((key,), former)
