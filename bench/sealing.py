"""``python -m bench.sealing --url postgresql://…``: what an audit event costs its writer.

Events are recorded at a fixed rate, each in a separate transaction, in turns without and with a
process that seals all the time, so that both are measured in the same minutes. The database must
have our tables. At the end all seals are verified.
"""

import argparse
import multiprocessing
import time
from statistics import median, quantiles

from sqlalchemy import insert

from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.seals.seal import audit_keys
from authsite.platform.audit.seals.sealing import AGE, seal_events
from authsite.platform.audit.seals.verification import Summary, verified
from authsite.platform.audit.service import event_values
from authsite.platform.db import open_database
from authsite.platform.db.base import database_now
from authsite.platform.db.transaction import snapshot_on
from authsite.platform.runtime import clock
from authsite.platform.settings import load
from tests.support.acting import acting

from .seed import SECRET

KEYS = audit_keys(load({"authsite.secret": SECRET}, {}))
INSERT = insert(AuditEvent.__table__).values(at=database_now())


def main():
    """Measure, and print a line for each turn."""
    options = argparse.ArgumentParser(prog="python -m bench.sealing", description=__doc__)
    options.add_argument("--url", required=True, help="of a PostgreSQL database")
    options.add_argument("--rate", type=int, default=500, help="events a second")
    options.add_argument("--seconds", type=int, default=15, help="of a turn")
    options.add_argument("--turns", type=int, default=3)
    given = options.parse_args()
    database = open_database(given.url)
    for _ in range(given.turns):
        for sealing in (False, True):
            sealer = multiprocessing.Process(target=seal_all_the_time, args=(given.url,))
            if sealing:
                sealer.start()
            took = sorted(write(database, given.rate, given.seconds))
            if sealing:
                sealer.terminate()
                sealer.join()
            [*_, p99] = quantiles(took, n=100)
            print(
                f"{'sealed' if sealing else 'alone '}: {len(took) / given.seconds:.0f} events/s, "
                f"median {median(took) * 1000:.2f} ms, p99 {p99 * 1000:.2f} ms",
                flush=True,
            )
    verify(database)


def write(database, rate, seconds):
    """The seconds that each event took."""
    values = event_values(
        acting(None, address="192.0.2.1", agent="bench"), Event.LOGIN_FAILED, details={"name": "x"}
    )
    begin = time.perf_counter()
    with database.autocommit.connect() as connection:
        for number in range(rate * seconds):
            time.sleep(max(0.0, begin + number / rate - time.perf_counter()))
            at = time.perf_counter()
            connection.execute(INSERT, values)
            yield time.perf_counter() - at


def seal_all_the_time(url):
    """Seal every tenth of a second what there is, without waiting for the minute."""
    database = open_database(url)
    with database.autocommit.connect() as connection:
        while True:
            for _seal in seal_events(connection, KEYS, clock.now() + AGE):
                pass
            time.sleep(0.1)


def verify(database):
    """Seal the rest, verify, and print what is wrong and how long it took."""
    summary = Summary()
    with database.autocommit.connect() as connection:
        for _seal in seal_events(connection, KEYS, clock.now() + AGE):
            pass
        begin = time.perf_counter()
        with snapshot_on(connection):
            problems = list(verified(connection, KEYS, summary))
    seconds = time.perf_counter() - begin
    print(f"{summary.seals} seals of {summary.rows} events verified in {seconds:.1f} s: {problems}")


if __name__ == "__main__":
    main()
