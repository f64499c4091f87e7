"""R27: the primary of two PostgreSQL servers is lost under load, and its standby promoted."""

import time
from contextlib import contextmanager

from tests.support.postgres import NAME, cluster

from . import invariants
from .database import new_workers, outage, recovery
from .rig import prepared, serve
from .rows import none
from .traffic import RATES


def failover(short):
    """R27: once the primary is killed, once it hangs, as a machine that is cut off."""
    return [*_lost(short, "killed", lambda primary: primary.kill()),
            *_lost(short, "hangs", lambda primary: primary.freeze())]  # fmt: skip


def _lost(short, word, lose):
    with prepared() as made, cluster() as standby:
        primary = made.postgres
        standby.follow(primary)
        with primary.connect() as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
            connection.execute("SELECT pg_reload_conf()")
        with serve(made, lambda _made: both(primary, standby)):
            workers = made.workers()
            with made.traffic(rates=RATES | {"logout": 2}) as traffic:
                time.sleep(4 if short else 20)
                begin = traffic.now()
                lose(primary)
                time.sleep(2)
                standby.promote()
                end = traffic.now()
                time.sleep(8 if short else 30)
            made.postgres = standby
            done = f"primary {word}; standby (synchronous) promoted 2 s later"
            rows = outage("R27", done, traffic, (begin, end), 3500)
            rows.append(recovery("R27", done, traffic, end, 5, 5))
            rows.append(none("R27", done, "workers that restarted", new_workers(workers, made)))
            return [*rows, invariants.check("R27", made, traffic)]


@contextmanager
def both(primary, standby):
    """The URL with both servers, as `database-url` has them."""
    yield f"postgresql://{NAME}@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/{NAME}"
