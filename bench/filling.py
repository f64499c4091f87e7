"""Fills a database by SQL with millions of users and token families, and some by the service.

The rows are like those that the service writes, so a token of each can be made with the key. The
indexes exist during this and grow as in production, by random keys.
"""

import time
from uuid import UUID

from sqlalchemy import func, select, text, update
from sqlalchemy.orm import Session

from authsite.oauth.clients import service
from authsite.oauth.models import Client, Family
from authsite.oauth.tokens.issue import ClientRef, issue
from authsite.platform.context import Context, make_services
from authsite.platform.db import open_database
from authsite.platform.http.request_info import RequestInfo
from authsite.platform.passwords import HashPool, Passwords
from authsite.platform.settings import load, revealed
from authsite.sign_in.gate import without_proof
from authsite.users.account import account_of
from authsite.users.models import User
from tests.support.acting import acting

from .seed import PASSWORD, SECRET

CLIENT_ID, CLIENT_SECRET = UUID("6f9619ff-8b86-4d01-b42d-00cf4fc964ff"), "growth"
FAMILIES_PER_USER = 10
ISSUED = 100  # by the service after each chunk
WAYS = {
    "postgresql": {
        "numbers": "SELECT n FROM generate_series(CAST(:first AS bigint), :last) AS n",
        "user": "CAST(md5('user' || {}) AS uuid)",
        "id": "gen_random_uuid()",
        "now": "now()",
        "soon": "now() + interval '30 days'",
        "false": "false",
        "client": str(CLIENT_ID),
    },
    "sqlite": {
        "numbers": "WITH RECURSIVE a(n) AS (SELECT :first UNION ALL SELECT n + 1 FROM a"
        " WHERE n < :last) SELECT n FROM a",
        "user": "printf('%08x%024x', ({} * 2654435761) & 4294967295, {})",
        "id": "lower(hex(randomblob(16)))",
        "now": "strftime('%Y-%m-%d %H:%M:%f000', 'now')",
        "soon": "strftime('%Y-%m-%d %H:%M:%f000', 'now', '+30 days')",
        "false": "0",
        "client": CLIENT_ID.hex,
    },
}
USERS = """
    INSERT INTO users (id, email, password_hash, epoch, email_verified_at, origin, created_at,
        updated_at)
    SELECT {user}, 'user' || n || '@example.com', :hash, 0, {now}, 'registered', {now}, {now}
    FROM ({numbers}) AS x
"""
NAMES = """
    INSERT INTO login_names (key, kind, user_id)
    SELECT 'user' || n || '@example.com', 'email', {user} FROM ({numbers}) AS x
"""
FAMILIES = """
    INSERT INTO families (id, client_id, owner_kind, user_id, granted_scope, scope, rescoped,
        user_epoch, client_epoch, generation, created_at, rotated_at, refresh_expires_at, address,
        agent)
    SELECT {id}, :client, 'user', {user}, '', '', {false}, 0, 0, 0, {now}, {now}, {soon},
        '192.0.2.1', 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
    FROM ({numbers}) AS x
"""


def fill(url, wanted, at_most, chunk=1_000_000):
    """Fill up to ``wanted`` families, but no more than ``at_most`` now; whether all are there."""
    cfg = load(
        {"authsite.secret": SECRET, "authsite.database-url": url, "authsite.limits": "off"}, {}
    )
    database = open_database(url)
    hashed = Passwords(cfg.bcrypt_cost, revealed(cfg.password_pepper), HashPool()).hash(PASSWORD)
    _client(database)
    there, chunk = _count(database), min(chunk, max(1, wanted // 10))
    until = min(wanted, there + at_most)
    while there < until:
        began, last = time.monotonic(), min(there + chunk, wanted)
        _chunk(database, hashed, there + 1, last - ISSUED)
        _issue(database, cfg, last)
        there = _count(database)
        print(f"{there:,} families, the last chunk in {time.monotonic() - began:.0f} s", flush=True)
    if there >= wanted:
        _tidy(database)
    database.dispose()
    return there >= wanted


def _client(database):
    with Session(database.transactional) as db, db.begin():
        if db.get(Client, CLIENT_ID) is None:
            service.create(acting(db), "growth", "password")
            db.flush()
            db.execute(
                update(Client).values(id=CLIENT_ID, secret_hash=service.hash_secret(CLIENT_SECRET))
            )


def _count(database, table=Family):
    with database.autocommit.connect() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SET statement_timeout = 0"))
        return connection.scalar(select(func.count()).select_from(table))


def _chunk(database, hashed, first, last):
    """Families ``first`` to ``last``, counted from 1, and users for them and those to be issued."""
    ways = WAYS[database.transactional.dialect.name]
    postgresql = database.transactional.dialect.name == "postgresql"
    per = FAMILIES_PER_USER
    users = {"first": _count(database, User) + 1, "last": -(-(last + ISSUED) // per)}
    families = {"first": first, "last": last, "client": ways["client"]}
    with database.transactional.begin() as connection:
        if postgresql:  # what is pointed at is there: looking it up each time is half of the work
            connection.execute(text("SET LOCAL session_replication_role = replica"))
            connection.execute(text("SET LOCAL statement_timeout = 0"))
        if users["first"] <= users["last"]:
            connection.execute(_sql(USERS, ways, "n"), {**users, "hash": hashed})
            connection.execute(_sql(NAMES, ways, "n"), users)
        connection.execute(_sql(FAMILIES, ways, f"((n + {per - 1}) / {per})"), families)


def _sql(statement, ways, user):
    return text(statement.format(**{**ways, "user": ways["user"].replace("{}", user)}))


def _issue(database, cfg, number):
    """Families by the service itself, for the last users, to make it ``number``."""
    last = number // FAMILIES_PER_USER
    emails = [f"user{last - n % 10}@example.com" for n in range(ISSUED)]
    with Session(database.autocommit) as db:
        found = db.scalars(select(User).where(User.email.in_(emails)))
        accounts = {user.email: account_of(user) for user in found}
    services = make_services(cfg, limits=False)
    ctx = Context(services, lambda: RequestInfo(address="192.0.2.1"), lambda: None)
    for email in emails:
        issue(ctx, ClientRef(CLIENT_ID, 0), without_proof(accounts[email]), "")


def _tidy(database):
    """On PostgreSQL, what autovacuum does after a while."""
    with database.autocommit.connect() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SET statement_timeout = 0"))
            connection.execute(text("VACUUM ANALYZE"))
            connection.execute(text("CHECKPOINT"))
            connection.invalidate()  # its timeout is not that of a request
        else:
            connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
