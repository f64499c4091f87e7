"""How a database would run statements: what it has to scan from end to end."""

import re
from contextlib import contextmanager

from psycopg import RawCursor
from sqlalchemy import text

from tests.support.statements import noted

# Tables whose size is that of the site. Clients are a handful, and stay one.
GROWING = {
    "users", "login_names", "former_addresses", "released_usernames",
    "families", "web_sessions", "outbox",
    "pending_logins", "personal_tokens", "group_members",
    "identities", "stored_requests", "used_ids", "authorization_codes", "device_codes", "consents",
    "totp_factors", "passkeys", "recovery_codes", "remembered_browsers",
    "invitations",
    "audit_events", "audit_seals", "limit_counters", "denied_requests",
}  # fmt: skip
ROWS = 5000
EXPLAIN = "EXPLAIN ({}FORMAT JSON) "

FILLING = """
INSERT INTO users (id, email, epoch, origin, created_at, updated_at)
    SELECT {id}, 'user' || n || '@example.com', 0, 'registered', now(), now() FROM {numbers};
INSERT INTO login_names (key, kind, user_id)
    SELECT email, 'email', id FROM users WHERE email LIKE 'user%@example.com';
INSERT INTO identities (id, user_id, provider, issuer, subject, trusted, created_at)
    SELECT id, id, 'corp', 'https://idp.example.org', id::text, false, now() FROM users;
INSERT INTO stored_requests (id, key_hash, kind, body, created_at, expires_at)
    SELECT {id}, md5(n::text) || md5(n::text), 'authorization', '{{}}', now(),
    now() + interval '10 minutes' FROM {numbers};
INSERT INTO used_ids (digest, expires_at) SELECT n::text, now() FROM {numbers};
INSERT INTO former_addresses (id, user_id, key, email, epoch, expires_at)
    SELECT {id}, {id}, 'old' || n || '@example.com', 'old', 1, now() FROM {numbers};
INSERT INTO released_usernames (digest, user_id, expires_at)
    SELECT md5(n::text), {id}, now() + interval '180 days' FROM {numbers};
INSERT INTO families (id, owner_kind, user_id, granted_scope, scope, rescoped, user_epoch,
    generation, created_at, rotated_at, refresh_expires_at, session_id)
    SELECT gen_random_uuid(), 'user', {id}, '', '', false, 0, 0, now(), now(),
    now() + interval '30 days', {id} FROM {numbers};
INSERT INTO clients (id, name, type, secret_hash, scope, default_scope, epoch, created_at,
    updated_at) SELECT {id}, 'Client ' || n, 'browser', '', '', '', 0, now(), now()
    FROM generate_series(1, 10) AS n;
INSERT INTO authorization_codes (id, client_id, client_epoch, user_id, user_epoch, session_id,
    redirect_uri, scope, auth_at, created_at, expires_at)
    SELECT gen_random_uuid(), md5((n % 10 + 1)::text)::uuid, 0, {id}, 0, {id}, '', '', now(),
    now(), now() + interval '1 minute' FROM {numbers};
INSERT INTO device_codes (id, client_id, client_epoch, user_code, scope, created_at, expires_at,
    interval, user_id) SELECT gen_random_uuid(), md5((n % 10 + 1)::text)::uuid, 0, n::text, '',
    now(), now() + interval '10 minutes', 5, {id} FROM {numbers};
INSERT INTO consents (user_id, client_id, scope, created_at, updated_at)
    SELECT {id}, md5((n % 10 + 1)::text)::uuid, 'openid', now(), now() FROM {numbers};
INSERT INTO web_sessions (id, key_hash, user_id, user_epoch, remember, auth_at, created_at,
    used_at, expires_at) SELECT {id}, md5(n::text) || md5(n::text), {id}, 0, false, now(), now(),
    now(), now() + interval '30 days' FROM {numbers};
INSERT INTO personal_tokens (id, user_id, user_epoch, session_id, name, scope, created_at,
    expires_at) SELECT gen_random_uuid(), {id}, 0, {id}, 'backup', '', now(),
    now() + interval '30 days' FROM {numbers};
INSERT INTO pending_logins (id, key_hash, user_id, user_epoch, remember, amr, enroll, unrecognized,
    failures, created_at, expires_at) SELECT {id}, md5(n::text) || md5(n::text), {id}, 0, false,
    'pwd', false, false, 0, now(), now() + interval '10 minutes' FROM {numbers};
INSERT INTO totp_factors (id, user_id, secret, digits, period, algorithm, last_step, failures,
    created_at) SELECT {id}, {id}, '', 6, 30, 'SHA1', 0, 0, now() FROM {numbers};
INSERT INTO passkeys (id, user_id, credential_id, public_key, user_handle, rp_id, sign_count,
    aaguid, transports, backup_eligible, backed_up, name, created_at)
    SELECT {id}, {id}, n::text, '', md5(n::text), 'example.com', 0, {id}, '', false, false, 'Key',
    now() FROM {numbers};
INSERT INTO recovery_codes (id, user_id, mac, created_at)
    SELECT {id}, {id}, md5(n::text), now() FROM {numbers};
INSERT INTO remembered_browsers (id, user_id, factor_version, recovery_version, created_at,
    expires_at) SELECT {id}, {id}, 0, 0, now(), now() + interval '30 days' FROM {numbers};
INSERT INTO invitations (id, email, key, inviter_id, version, created_at, expires_at)
    SELECT {id}, 'new' || n || '@example.com', 'new' || n || '@example.com', {id}, 0, now(),
    now() + interval '7 days' FROM {numbers};
INSERT INTO group_members (user_id, group_name, created_at)
    SELECT {id}, 'group' || n % 10, now() FROM {numbers};
INSERT INTO outbox (id, letter, user_id, address, language, created_at, give_up_at, state, attempts,
    next_attempt_at) SELECT {id}, 'welcome', {id}, 'a@example.com', 'en', now(), now(),
    CASE WHEN n % 10 = 0 THEN 'waiting' ELSE 'sent' END, 1, now() FROM {numbers};
INSERT INTO denied_requests (at, request_id, route, status, error)
    SELECT now(), n::text, 'oauth.token', 400, 'invalid_grant' FROM {numbers};
INSERT INTO audit_events (at, event) SELECT now(), 'login.failed' FROM {numbers};
INSERT INTO audit_seals (id, at, rows, first_id, last_id, newest_at, key, digest,
    former_mac, mac) SELECT n, now(), 1, n, n, now(), '', '', '', '' FROM {numbers};
INSERT INTO limit_counters (key, count, expires_at)
    SELECT md5(n::text), 1, now() + interval '1 hour' FROM generate_series(1, 50000) AS n
"""


def fill(database):
    """On PostgreSQL, enough rows for the use of an index; SQLite needs none."""
    if database.transactional.dialect.name != "postgresql":
        return
    values = {"id": "md5(n::text)::uuid", "numbers": f"generate_series(1, {ROWS}) AS n"}
    with database.transactional.begin() as connection:
        for statement in FILLING.format(**values).split(";"):
            connection.execute(text(statement))
    with database.autocommit.connect() as connection:
        connection.execute(text("ANALYZE"))


@contextmanager
def recorded(database):
    """The statements of the block that have a plan: statement -> one of its parameters."""
    seen = {}

    def note(statement, parameters):
        if re.match(r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b", statement, re.IGNORECASE):
            seen.setdefault(statement, parameters)

    with noted(database, note):
        yield seen


def scans(database, statement, parameters, limited=False):
    """The growing tables of which ``statement`` would read more than an index points to.

    ``limited``: on PostgreSQL, without those of which it reads the first rows in the order of an
    index, without a filter and under a LIMIT.
    """
    with database.transactional.connect() as connection:
        driver = connection.connection.driver_connection
        if database.transactional.dialect.name == "sqlite":
            rows = driver.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
            return _of_sqlite([row[3] for row in rows])
        if "$1" not in statement:
            plan = driver.execute(EXPLAIN.format("") + statement, parameters)
            return _of_postgresql(plan, limited)
        # Prepared on the server: sooner or later it takes the plan that is for any parameters.
        raw = RawCursor(driver)
        anyhow = _of_postgresql(
            driver.execute(EXPLAIN.format("GENERIC_PLAN, ") + statement), limited
        )
        now = _of_postgresql(raw.execute(EXPLAIN.format("") + statement, parameters), limited)
        return sorted({*anyhow, *now})


def _of_sqlite(details):
    scanned = [found[1] for detail in details if (found := re.match(r"SCAN (\S+)", detail))]
    return sorted(set(scanned) & GROWING)


def _of_postgresql(cursor, limited=False):
    [([answer],)] = cursor.fetchall()
    return sorted({
        node["Relation Name"] for node in _nodes(answer["Plan"], limited)
        if node.get("Relation Name") in GROWING and node["Node Type"].endswith("Scan")
        # What finds the rows of a bitmap scan is the node below it, which names no table.
        and any("Index Cond" not in index for index in _indexes(node))
    })  # fmt: skip


def _indexes(node):
    if node["Node Type"] != "Bitmap Heap Scan":
        return [node]
    return [part for part in _nodes(node) if part["Node Type"] == "Bitmap Index Scan"]


def _nodes(plan, limited=False):
    """The nodes of a plan; with ``limited`` without those that a LIMIT ends after some rows."""
    if limited and plan["Node Type"] == "Limit" and (first := _first_rows(plan)):
        plan = {**plan, "Plans": [each for each in plan["Plans"] if each is not first]}
    yield plan
    for part in plan.get("Plans", ()):
        yield from _nodes(part, limited)


def _first_rows(plan):
    """The node below a LIMIT, if it reads a table in the order of an index, without a filter."""
    node = below = plan["Plans"][0]
    while below["Node Type"] in ("Incremental Sort", "Subquery Scan") and "Filter" not in below:
        below = below["Plans"][0]
    if "Filter" in below or below.get("Node Type") not in ("Index Scan", "Index Only Scan"):
        return None
    return node
