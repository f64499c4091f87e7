"""``authsite audit verify``: what it says, and after a rotation of the secret."""

from dataclasses import replace

import pytest
from sqlalchemy import delete, insert, update
from structlog.testing import capture_logs

from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.seals.proofs import new_seal, purged_mac_of
from authsite.platform.audit.seals.seal import audit_keys
from authsite.platform.audit.seals.stored import SEALS
from authsite.platform.audit.seals.table import insert_seal, read_segment
from authsite.platform.db.transaction import snapshot_on
from authsite.platform.runtime import clock
from authsite.platform.settings import Secret
from tests.support.home import initialized
from tests.support.sealing import add, change, problems, seal_all, seals
from tests.support.site import Site

pytestmark = pytest.mark.control("D05")


def test_the_command_says_what_is_wrong_and_ends_with_1(tmp_path):
    home = initialized(tmp_path)
    site = Site(home.url, secret=home.variables()["AUTHSITE_SECRET"])
    add(site, 4)
    with capture_logs() as log:
        seal_all(site)
    [line] = log
    assert line["seal"] == 2  # the first one is by `init`
    seal = f"{line['seal']}:{line['mac']}"
    shown = home.run("audit", "verify", "--seal", seal).stdout
    assert "No sealed event was changed" in shown
    assert f"The newest seal is {seal}" in shown
    assert home.json("audit", "verify") == {
        "ok": True, "seals": 2, "events": 5, "unsealed": 0, "problems": [],
        "newest_seal": {"seal": 2, "mac": line["mac"]},
    }  # fmt: skip
    change(site, update(AuditEvent).where(AuditEvent.event == "e2").values(event="e3"))
    assert "Seal 2, events" in home.run("audit", "verify", status=1).stdout
    change(site, delete(SEALS))
    change(site, delete(AuditEvent))
    assert home.run("audit", "verify").stdout
    logged = f"\udcff is not UTF-8\naudit_sealed seal=2 mac={line['mac']}\n"
    (tmp_path / "log").write_bytes(logged.encode(errors="surrogateescape"))
    cut = home.run("audit", "verify", "--log", str(tmp_path / "log"), status=1).stdout
    assert "Seal 2: the log has this seal, and the table has not" in cut
    forged = dict.fromkeys(("key", "digest", "former_mac", "mac"), "")
    numbers = dict.fromkeys(("id", "rows", "first_id", "last_id"), 1)
    times = dict.fromkeys(("at", "newest_at"), clock.now())
    change(site, insert(SEALS).values(**forged, **numbers, **times))
    with site.database.autocommit.connect() as connection:
        connection.exec_driver_sql("UPDATE audit_seals SET newest_at = char(27) || '[2J'")
    shown = home.run("audit", "verify", status=1).stdout
    assert ("\\x1b[2J" in shown, "\x1b" in shown) == (True, False)
    for wrong in ("x", f"{'9' * 5000}:{line['mac']}", f"²:{line['mac']}"):
        assert "Error: --seal" in home.run("audit", "verify", "--seal", wrong, status=1).stderr
    site.database.dispose()


def test_seals_verify_after_the_secret_was_replaced_and_removed(tmp_path):
    home = initialized(tmp_path)

    def now():
        read = {key: home.variables().get(f"AUTHSITE_{key.upper()}", "").strip('"')
                for key in ("secret", "audit_key")}  # fmt: skip
        return Site(home.url, **{key: value for key, value in read.items() if value})

    site = now()
    add(site, 2)
    seal_all(site)
    home.run("secret", "rotate")
    home.run("secret", "rotate", "--finish")
    home.run("secret", "retire", "--force")
    assert home.json("audit", "verify")["ok"]
    second = now()
    seal_all(second)
    first, next_ = seals(second)[:2]
    assert first.key == next_.key
    home.run("secret", "rotate", "--at-once")  # the former secret has leaked
    third = now()
    add(third, 1)
    seal_all(third)
    assert seals(third)[-1].key != first.key
    assert home.json("audit", "verify")["ok"]
    # An attacker with the leaked key and the database replaces all seals, and makes later ones.
    change(third, delete(SEALS))
    leaked = audit_keys(second.cfg)
    end = audit_keys(third.cfg)[1].until
    assert 100 < end <= 110
    with third.database.autocommit.connect() as connection:
        last, segment = max(add(third, 1)), read_segment(connection, None, 10**9)
        forged = new_seal(leaked[0].key, end + 1, None, segment)
        insert_seal(connection, forged._replace(purged_mac=purged_mac_of(leaked[0].key, forged)))
    assert forged.last_id == last
    change(third, delete(AuditEvent).where(AuditEvent.id <= last))
    assert problems(second) == []  # with the settings of before
    assert "its key was replaced" in problems(third)[0].text
    for each in (site, second, third):
        each.database.dispose()
    home.env_file.write_text(
        "\n".join(
            line for line in home.env_file.read_text().splitlines() if "AUDIT_KEY" not in line
        )
    )
    lost = home.json("audit", "verify", status=1)
    assert "audit-key" in lost["problems"][0]["text"]


def test_a_verification_may_wait_within_its_transaction(site):
    if site.database.autocommit.dialect.name != "postgresql":
        pytest.skip("SQLite has no time limits")
    with site.database.autocommit.connect() as connection, snapshot_on(connection):
        for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
            assert connection.exec_driver_sql(f"SHOW {limit}").scalar() == "0"


def test_a_key_that_was_replaced_proves_no_purge_of_later_seals(site_with):
    first, second = "11" * 32, "22" * 32
    site = site_with(audit_key=first)
    add(site, 2)
    seal_all(site)
    site.cfg = replace(site.cfg, audit_key=(Secret(second), Secret(f"{first}@1")))
    add(site, 2)
    [later] = seal_all(site)
    assert (later.id, problems(site)) == (2, [])
    change(site, delete(AuditEvent).where(AuditEvent.id <= later.last_id))
    change(site, delete(SEALS).where(SEALS.c.id < later.id))
    new, old = audit_keys(site.cfg)
    for key, found in ((old, True), (new, False)):
        proof = purged_mac_of(key.key, later)
        change(site, update(SEALS).values(purged_mac=proof))
        assert bool(problems(site)) is found
