"""R26: a backup that is made while requests arrive is restored."""

import os
import signal
import subprocess
import time
from types import SimpleNamespace

from tests.support.postgres import NAME, cluster, program
from tests.support.servers import authsite

from . import invariants
from .rig import prepared, serve
from .rows import Row, none
from .sqlite import on_disk
from .traffic import good

CHECKED = "I3, I5 hold: each family, revocation and reset mail has its audit row"


def restored(short):
    """R26: on SQLite with our commands, on PostgreSQL with its own tools and `after-restore`."""
    return [
        *_run(short, on_disk, "SQLite", (_copy, _put_back)),
        *_run(short, cluster, "PostgreSQL", (_dump, _load_dump)),
    ]


def _run(short, storage, name, steps):
    back_up, bring_back = steps
    with prepared(storage) as made:
        with serve(made), made.traffic() as traffic:
            time.sleep(3 if short else 20)
            began = time.monotonic()
            back_up(made)
            seconds = time.monotonic() - began
            time.sleep(3 if short else 20)
        commands = bring_back(made)
        broken = list(_broken(made))
        with serve(made):
            dead = _statuses(made, traffic.sessions)
            with made.traffic(rates={"login": 4, "forgot": 2}) as later:
                time.sleep(5)
            alive = _statuses(made, [SimpleNamespace(access=token) for token in later.made])
    done = f"{name}: backup under load ({seconds:.1f} s), restored with {commands} commands"
    failed = [a.status for a in (*traffic.answers, *later.answers) if not good(a)]
    return [
        none("R26", done, "failures", failed),
        Row("R26", done, CHECKED, "; ".join(broken) or "hold", not broken),
        Row("R26", done, "no token of before is accepted", f"{set(dead)}", set(dead) == {401}),
        Row("R26", done, "new logins work", f"{len(alive)}: {set(alive)}", set(alive) == {200}),
        Row("R26", done, "at most 10 commands", str(commands), commands <= 10),
    ]


def _broken(made):
    with made.postgres.connect() as connection:
        counts = connection.execute(invariants.COUNTS).fetchone()
    families, issued, asked, mails, revoked, ended = counts
    for name, rows, audited in (
        ("token families", families, issued),
        ("mails", mails, asked),
        ("revoked families", revoked, ended),
    ):
        if rows != audited:
            yield f"{rows} {name}, {audited} audit rows"


def _statuses(made, sessions):
    return [
        made.server.get("/v1/user", headers={"Authorization": f"Bearer {each.access}"}).status_code
        for each in sessions
    ]


def _command(made, *arguments):
    done = authsite("db", *arguments, ini=made.ini, AUTHSITE_ENV_FILE=os.devnull)
    if done.returncode:
        raise RuntimeError(done.stderr)


def _copy(made):
    _command(made, "backup", made.ini.with_name("backup"))


def _put_back(made):
    _command(made, "restore", made.ini.with_name("backup"))
    return 4  # stop, restore, start, doctor: docs/backup.md


def _dump(made):
    _tool(made, "pg_dump", "--format=custom", f"--file={_file(made)}", made.postgres.url)


def _load_dump(made):
    made.postgres.stop(signal.SIGINT)  # also ends the connections
    made.postgres.start()
    with made.postgres.connect("postgres") as connection:
        connection.execute(f"ALTER DATABASE {NAME} RENAME TO former")
        connection.execute(f"CREATE DATABASE {NAME}")
    _tool(made, "pg_restore", f"--dbname={made.postgres.url}", _file(made))
    _command(made, "upgrade")
    _command(made, "after-restore")
    return 8  # docs/backup.md


def _file(made):
    return made.ini.with_name("dump")


def _tool(made, name, *arguments):
    subprocess.run([program(name), *arguments], check=True)
