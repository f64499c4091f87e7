"""``python -m bench.growth``: is the service as fast with ten million token families as with ten
thousand (R18)?

Two databases of one server (made beside the one that ``--url`` names) or two SQLite files are
filled, each is served by two workers, and the runs alternate between them. Compare only the ratios.
``--fill N`` adds N families and stops, so that the databases can be filled in parts; ``--folder``
is the folder of the SQLite files. With ``--url`` all other tables that grow get a row for each user
(and ten events), and a second table has the paths that use them (`bench.growth_paths`).
"""

import argparse
import os
import random
import statistics
import tempfile
import time
from contextlib import ExitStack
from datetime import timedelta
from operator import methodcaller
from pathlib import Path
from urllib.parse import urlencode
from uuid import UUID

import psycopg
from sqlalchemy import bindparam, select
from sqlalchemy.engine import make_url

from authsite.oauth.models import Family
from authsite.oauth.tokens.active import ACTIVE_FAMILY, find_active
from authsite.oauth.tokens.format import ACCESS, REFRESH
from authsite.platform.db import open_database
from authsite.platform.runtime import clock
from authsite.platform.settings import load, revealed
from tests.support.codec import TokenCodec

from . import filling, growth_paths, growth_tables, machine
from . import load as wrk
from .seed import PASSWORD, SECRET, ini

WORKERS = 2
TOKENS = 20_000  # of families at random; wrk keeps a whole request for each
REFRESHED = 500
CHANCE = random.Random(7)  # noqa: S311  no secrets here
CONNECTIONS = {"guard": 4, "refresh": 4, "login": 1}  # few: latency is asked for, not queueing
READS = 5000  # families at random
READINGS = ("read alone, first time", "read alone, again", "of it in PostgreSQL")
LONGER = 3  # times, for logins: they are slow and few


def main():
    """Fill what is missing, measure, and print two tables."""
    options = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    options.add_argument("--families", type=int, default=10_000_000)
    options.add_argument("--small", type=int, default=10_000)
    options.add_argument("--url", help="postgresql://…; without it SQLite")
    options.add_argument("--folder", type=Path)
    options.add_argument(
        "--fill", type=int, help="fill in at most this number of families and stop"
    )
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=int, default=6, help="of one run")
    options.add_argument("--paths", action="store_true", help="the second table alone")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="authsite-growth-") as name:
        folder = given.folder or Path(name)
        sites = [Grown(folder, given.url, size) for size in (given.small, given.families)]
        fill = methodcaller("fill", given.fill or given.families)
        if all(list(map(fill, sites))) and not given.fill:
            if given.url:
                for site in sites:
                    growth_tables.fill(site.url, site.size // filling.FAMILIES_PER_USER)
            if not given.paths:
                measure(sites, given.rounds, given.seconds)
            if given.url:
                growth_paths.measure([(site.url, site.size) for site in sites], given.rounds)


class Grown:
    """A database with this number of families, and what wrk sends to its server."""

    def __init__(self, folder, url, size):
        self.size, self.folder = size, folder / str(size)
        self.folder.mkdir(exist_ok=True)
        self.url = (
            database_beside(url, f"growth_{size}") if url else f"sqlite:///{self.folder}/g.sqlite"
        )
        self.ini = ini(self.folder, self.url)
        settings = {"authsite.secret": SECRET, "authsite.database-url": self.url}
        cfg = load({**settings, "authsite.limits": "off"}, {})
        self.codec = TokenCodec(revealed(cfg.secret))
        self.until = int((clock.now() + timedelta(days=1)).timestamp())

    def fill(self, at_most):
        """Whether it is full."""
        return filling.fill(self.url, self.size, at_most)

    def serve(self):
        """The server's process; its port is ``port``."""
        self.port = machine.free_port()
        return machine.process(
            "-m",
            "authsite",
            "serve",
            "--config",
            self.ini,
            "--port",
            self.port,
            "--workers",
            WORKERS,
            port=self.port,
            AUTHSITE_ENV_FILE=os.devnull,
            AUTHSITE_JANITOR="off",
        )

    def tokens(self, kind, count):
        """Tokens of ``kind`` for families at random, from all over the table.

        Those that are refreshed are others than those whose access tokens are in use.
        """
        after = (
            select(Family.id, Family.generation)
            .where(Family.id >= bindparam("start"), Family.revoked_at.is_(None))
            .order_by(Family.id)
            .limit(1)
        )
        database = open_database(self.url)
        with database.autocommit.connect() as connection:
            rows = [
                connection.execute(after, {"start": _start(kind)}).first() for _ in range(count)
            ]
        database.dispose()
        return [self.codec.encode(kind, *row, self.until) for row in dict.fromkeys(rows)]

    def file(self, name, lines):
        """A file for wrk."""
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n")
        return path

    def jobs(self):
        """What wrk does in one round, by name."""
        keys = {"client_id": str(filling.CLIENT_ID), "client_secret": filling.CLIENT_SECRET}
        users = CHANCE.choices(range(1, self.size // filling.FAMILIES_PER_USER), k=200)
        logins = [
            {"grant_type": "password", "username": f"user{n}@example.com", "password": PASSWORD}
            for n in users
        ]
        token = {"path": "/v1/oauth/token"}
        return {
            "guard": {"path": "/v1/user", "tokens": self.file("access", self.access)},
            "refresh": {
                **token,
                "refresh": self.file("refresh", self.tokens(REFRESH, REFRESHED)),
                "extra": "&" + urlencode(keys),
            },
            "login": {
                **token,
                "method": "POST",
                "bodies": self.file("logins", [urlencode(login | keys) for login in logins]),
            },
        }


def measure(sites, rounds, seconds):
    """Run everything in turns and print what came of it."""
    print(
        f"{machine.describe()}; {WORKERS} workers; {sites[0].url.partition(':')[0]}\n", flush=True
    )
    bare = [lookups(site) for site in sites]
    seen = {(name, site.size): [] for name in CONNECTIONS for site in sites}
    with ExitStack() as stack:
        for site in sites:
            stack.enter_context(site.serve())
            site.access = site.tokens(ACCESS, TOKENS)
        time.sleep(3)
        for number in range(rounds + 1):
            for site in CHANCE.sample(sites, len(sites)):
                for name, what in site.jobs().items():
                    length = seconds if number else 2  # the first round only warms up
                    length *= LONGER if name == "login" and number else 1
                    done = wrk.run(site.port, connections=CONNECTIONS[name], seconds=length, **what)
                    if number:
                        seen[name, site.size].append(done)
    report(sites, seen, bare)


def lookups(site):
    """Milliseconds of the guard's read alone: from this process, first and again; and what the
    database says of its part."""
    tokens = [site.codec.decode(ACCESS, each, clock.now()) for each in site.tokens(ACCESS, READS)]
    database, times = open_database(site.url), []
    for token in [tokens[0], *tokens, *tokens]:
        began = time.perf_counter()
        assert find_active(database, token, clock.now(), timedelta())
        times.append((time.perf_counter() - began) * 1000)
    own = [executed(database, token.family_id) for token in tokens[:1000]]
    database.dispose()
    again = len(tokens) + 1
    return times[1:again], times[again:], own


def executed(database, family_id):
    """Milliseconds that PostgreSQL itself takes, by indexes alone; nothing on SQLite."""
    if database.autocommit.dialect.name != "postgresql":
        return None
    compiled = ACTIVE_FAMILY.compile(database.autocommit)
    explain = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {compiled}"
    with database.autocommit.connect() as connection:
        [answer] = connection.exec_driver_sql(
            explain, {**compiled.params, "family_id": family_id}
        ).scalar_one()
    scanned = {
        node["Relation Name"] for node in _nodes(answer["Plan"]) if "Seq" in node["Node Type"]
    }
    assert scanned <= {"clients"}, scanned
    return answer["Execution Time"]


def _nodes(plan):
    yield plan
    for part in plan.get("Plans", ()):
        yield from _nodes(part)


def report(sites, seen, bare):
    """Print the table, as Markdown.

    By round: the median of each round's own ratio of p99, which what else the machine does for a
    while hardly moves.
    """
    small, large = (site.size for site in sites)
    print(
        f"| what | {small:,}: p50 ms | p99 ms | {large:,}: p50 ms | p99 ms | p50 | p99 | by round |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name in CONNECTIONS:
        line, wrong = [], 0
        for size in (small, large):
            loads = seen[name, size]
            line += [statistics.median(load.p50 for load in loads)]
            line += [statistics.median(load.p99 for load in loads)]
            wrong += sum(load.refused + load.broken for load in loads)
        pairs = zip(seen[name, small], seen[name, large], strict=True)
        by_round = statistics.median(_ratio(grown.p99, little.p99) for little, grown in pairs)
        name = f"{name} ({wrong} wrong answers!)" if wrong else name
        print(row(name, line), f"{by_round:.2f} |")
    for number, name in enumerate(READINGS):
        if None in bare[0][number]:
            continue
        cuts = [statistics.quantiles(times[number], n=100) for times in bare]
        print(row(name, [cut[at] for cut in cuts for at in (49, 98)], digits=3), "|")
    print(
        "\nOf each round, the p99: ",
        {f"{name} {size:,}": [load.p99 for load in loads] for (name, size), loads in seen.items()},
    )


def row(name, line, digits=2):
    """``line``: p50 and p99 of the small one, p50 and p99 of the large one."""
    cells = [f"{value:.{digits}f}" for value in line]
    ratios = f"{_ratio(line[2], line[0]):.2f} | {_ratio(line[3], line[1]):.2f}"
    return f"| {name} | {' | '.join(cells)} | {ratios} |"


def _ratio(grown, little):
    return grown / little if little else float("nan")  # a run without an answer


def _start(kind):
    at = CHANCE.uniform(0.7, 0.99) if kind == REFRESH else CHANCE.uniform(0, 0.69)
    return UUID(int=int(at * 2**128))


def database_beside(server, name):
    """The URL of database ``name`` beside the one that ``server`` names; made if it is missing."""
    with psycopg.connect(server, autocommit=True) as connection:
        if not connection.execute(
            "SELECT 1 FROM pg_database WHERE datname = %s", [name]
        ).fetchone():
            connection.execute(f'CREATE DATABASE "{name}"')
    return make_url(server).set(database=name).render_as_string(hide_password=False)


if __name__ == "__main__":
    main()
