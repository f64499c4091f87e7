"""One request stopped between its statements, while another runs (PostgreSQL)."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
from sqlalchemy import event

from tests.support.locks import WAITING
from tests.support.statements import noted

SECONDS = 20


def is_place(statement, number):
    """Whether a request is stopped before ``statement``, its place number ``number``.

    Place 0 is its first statement, so nothing has been read; place 1 the second one, after the
    guard's. From there on only writes, locks and the commit (whose event has a connection) are
    places: whatever was read before is then as old as can be.
    """
    if number < 2 or not isinstance(statement, str):
        return True
    reads = statement.startswith("SELECT") and " FOR " not in statement
    return not reads and not statement.startswith(("SAVEPOINT", "RELEASE"))


class Interleaving:
    """Runs pairs of functions on ``database``; close it at the end."""

    def __init__(self, database):
        self._database = database
        url = database.transactional.url.set(drivername="postgresql")
        self._watching = psycopg.connect(url.render_as_string(hide_password=False), autocommit=True)
        self._pool = ThreadPoolExecutor(2)

    def close(self):
        self._watching.close()
        self._pool.shutdown()

    def run(self, first, second, stop):
        """The results of both; None if ``first`` has no more than ``stop`` places to stop at.

        ``first`` runs up to its place number ``stop`` (see `is_place`). Then ``second`` runs, till
        it ends or waits for a lock. Then both run on.
        """
        reached, go_on, stopped, count = threading.Event(), threading.Event(), [], [0]

        def pause(statement, *_):
            if threading.get_ident() in stopped and is_place(statement, count[0]):
                if count[0] == stop:
                    reached.set()
                    assert go_on.wait(SECONDS)
                count[0] += 1

        def begin():
            stopped.append(threading.get_ident())
            try:
                return first()
            finally:
                stopped.clear()
                reached.set()

        with self._pausing(pause):
            one = self._pool.submit(begin)
            assert reached.wait(SECONDS)
            if not stopped:
                one.result()
                return None
            two = self._pool.submit(second)
            while not two.done() and self._watching.execute(WAITING).fetchone() == (0,):
                two_ended = threading.Event()
                two.add_done_callback(lambda _, ended=two_ended: ended.set())
                two_ended.wait(0.004)
            go_on.set()
            return one.result(), two.result()

    @contextmanager
    def _pausing(self, pause):
        engine = self._database.transactional
        event.listen(engine, "commit", pause)
        try:
            with noted(self._database, pause):
                yield
        finally:
            event.remove(engine, "commit", pause)
