"""R4 to R7: PostgreSQL restarts, hangs, has no free connection, or reports conflicts."""

import threading
import time
from contextlib import ExitStack, contextmanager

import httpx
import psycopg

from . import invariants
from .rig import prepared, rig, serve, summary
from .rows import Row, limit, none
from .traffic import good, invalid, other_than_503, p


def restarted(short):
    """R4: an immediate shutdown in the middle of the load, and a start three seconds later."""
    with rig() as made:
        workers = made.workers()
        with made.traffic() as traffic:
            time.sleep(3 if short else 15)
            begin = traffic.now()
            made.postgres.stop()
            time.sleep(3)
            made.postgres.start()
            end = traffic.now()  # it has accepted connections since then
            time.sleep(8 if short else 20)
        done = "PostgreSQL restarted (immediate shutdown, 3 s later a start)"
        rows = outage("R4", done, traffic, (begin, end), 3500)
        rows.append(recovery("R4", done, traffic, end, 2, 5))
        rows.append(none("R4", done, "workers that restarted", new_workers(workers, made)))
        return [*rows, invariants.check("R4", made, traffic)]


def frozen(short):
    """R5: every process of PostgreSQL is stopped; connections stay open, and nothing answers."""
    with rig() as made, probing(made) as probes:
        workers = made.workers()
        with made.traffic() as traffic:
            time.sleep(3 if short else 10)
            begin = traffic.now()
            with made.postgres.frozen():
                time.sleep(15)
                end = traffic.now()
            time.sleep(8 if short else 20)
        done = "PostgreSQL stopped for 15 s (SIGSTOP)"
        rows = outage("R5", done, traffic, (begin, end), 3500)
        rows.append(limit("R5", done, "`/healthz`, longest", 100, 1000 * max(probes)))
        rows.append(recovery("R5", done, traffic, end, 5, 5))
        rows.append(none("R5", done, "workers that restarted", new_workers(workers, made)))
        return [*rows, invariants.check("R5", made, traffic)]


def full(short):
    """R6: another client takes every connection that PostgreSQL has, for ten seconds."""
    with prepared() as made, ExitStack() as stack:
        stack.enter_context(serve(made))
        with made.traffic() as traffic:
            time.sleep(3)
            begin = traffic.now()
            with taken(made.postgres):
                time.sleep(5 if short else 15)
                end = traffic.now()
            time.sleep(5 if short else 10)
        done = "all connections of PostgreSQL used by another client, ours ended"
        rows = outage("R6", done, traffic, (begin, end), 2500)
        rows.append(recovery("R6", done, traffic, end, 2, 2))
        return [*rows, invariants.check("R6", made, traffic)]


def conflicts(short):
    """R7: a trigger fails one of twenty statements of requests with a separate transaction."""
    with rig() as made:
        with made.postgres.connect() as connection:
            connection.execute(FAILING)
        rates = {"guard": 26, "refresh": 10, "login": 2, "forgot": 4}
        with made.traffic(rates=rates) as traffic:
            time.sleep(10 if short else 60)
        with made.postgres.connect() as connection:
            [raised] = connection.execute("SELECT last_value - 1 FROM conflicts").fetchone()
            connection.execute("DROP FUNCTION sometimes_conflict CASCADE")
        done = f"{raised} serialization failures and deadlocks raised, in 5 % of the writes"
        failed = [a for a in traffic.answers if not good(a)]
        visible = f"{len(failed)} of {len(traffic.answers)}"
        rows = [Row("R7", done, "0 visible failures", f"{visible}: {summary(failed)}", not failed)]
        return [*rows, invariants.check("R7", made, traffic)]


# Sequences are not rolled back, so they count what was raised.
FAILING = """
CREATE SEQUENCE conflicts;
CREATE FUNCTION sometimes_conflict() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF random() < 0.05 THEN
    PERFORM nextval('conflicts');
    RAISE EXCEPTION 'injected' USING ERRCODE = CASE WHEN random() < 0.5 THEN '40001'
                                                    ELSE '40P01' END;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER conflicting BEFORE INSERT ON outbox
  FOR EACH ROW EXECUTE FUNCTION sometimes_conflict();
CREATE TRIGGER conflicting BEFORE INSERT OR UPDATE ON families
  FOR EACH ROW EXECUTE FUNCTION sometimes_conflict();
"""


def outage(run, done, traffic, times, longest):
    """The rows of what was answered while the database was away, and of wrong answers at all."""
    begin, end = times
    during = traffic.during(begin, end)
    failed = [a for a in during if not good(a)]
    return [
        none(run, done, "failures other than 503 with `Retry-After`", len(other_than_503(failed))),
        none(run, done, "valid tokens called invalid", len(invalid(traffic.answers))),
        limit(run, done, f"answers during this ({summary(during)}), p99", longest, p(during, 0.99)),
    ]


def recovery(run, done, traffic, end, first, steady):
    """The row of how long after ``end`` requests succeed, and all of them."""
    after = [a for a in traffic.answers if a.at >= end]
    firsts = [a.end - end for a in traffic.answers if a.end >= end and good(a)]
    fails = [a.at - end for a in after if not good(a)]
    begun, last = min(firsts, default=99.0), max(fails, default=0.0)
    figure = f"first after {begun:.1f} s, all after {last:.1f} s"
    target = f"first success ≤ {first} s, all ≤ {steady} s after the return"
    return Row(run, done, target, figure, begun <= first and last <= steady)


@contextmanager
def probing(made):
    """Ask ``/healthz`` every 100 ms; yields the list of seconds that each answer took."""
    seconds, stop = [0.0], threading.Event()

    def probe():
        with httpx.Client(base_url=made.server.base_url, timeout=30) as client:
            while not stop.wait(0.1):
                began = time.monotonic()
                client.get("/healthz")
                seconds.append(time.monotonic() - began)

    thread = threading.Thread(target=probe)
    thread.start()
    try:
        yield seconds
    finally:
        stop.set()
        thread.join()


@contextmanager
def taken(postgres):
    """Take all connections: end those of others and open new ones until none is left."""
    held, stop = [postgres.connect()], threading.Event()

    def take():
        while not stop.is_set():
            try:
                held.append(postgres.connect())
                held[-1].execute("SET application_name = 'taker'")
            except psycopg.OperationalError:
                held[0].execute(END_OTHERS)
                stop.wait(0.02)

    held[0].execute("SET application_name = 'taker'")
    thread = threading.Thread(target=take)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        for connection in held:
            connection.close()


END_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND application_name <> 'taker'
"""


def new_workers(workers, made):
    """How many workers have been started since ``workers`` ran."""
    return len(set(made.workers()) - set(workers))
