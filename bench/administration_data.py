"""Fills a PostgreSQL with what a large site has, by SQL: users, groups, sign-ins, events, mails.

The rows are like those that the service writes. Indexes and keys are made after the rows, which
takes a fraction of the time. Foreign keys are not checked: the rows agree with them.
"""

import time

from sqlalchemy import text

DAYS = 90  # of events
LARGE, SMALL = "staff", "board"  # the groups with a tenth of all users, and with ten
FIRST = (
    "Maria Anna Peter Thomas Michael Sarah Julia Laura David Daniel Jan Eva Paul Sofia Lukas Emma"
    " Mia Noah Leon Lena Omar Aisha Wei Yuki Ivan Olga Carlos Lucia Pierre Chloé Giulia Marco"
    " Ingrid Lars Fatima Ahmed Priya Arjun Chen Zoë"
)
LAST = (
    "Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Koch Richter Klein"
    " Wolf Neumann Schwarz Braun Zimmermann Krüger Hartmann Lange Werner Lehmann Köhler Garcia"
    " Martinez Lopez Sanchez Rossi Ferrari Bianchi Dubois Laurent Moreau Smith Jones Brown Taylor"
    " Wilson Evans Kim Lee Park Tanaka Sato Singh Kumar Patel Ivanov Petrov Nowak Kowalski Hansen"
    " Larsen Nilsson Eriksson Silva Santos Costa Pereira"
)
DOMAINS = "example.com example.org example.net mail.example corp.example school.example"
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
HASH = "$2b$12$" + 53 * "a"  # opens nothing
TABLES = (
    "users", "login_names", "groups", "group_members", "totp_factors", "clients", "families",
    "web_sessions", "personal_tokens", "audit_events", "outbox", "invitations",
)  # fmt: skip


def _chosen(words, share):
    """SQL for one of ``words`` by the number n, the first ones more often than the last."""
    listed = ", ".join(f"'{word}'" for word in words.split())
    random = f"(((hashint8(n + {share}) & 65535) / 65536.0) ^ 2)"
    return f"(ARRAY[{listed}])[1 + floor({random} * {len(words.split())})::int]"


ID = "md5('user' || n)::uuid"
CLIENT = "md5('client' || n % {clients})::uuid"
CREATED = "now() - interval '3 years' * (1 - n / {users}.0)"
EVENT = """(CASE WHEN n % 100 < 55 THEN 'token.issued' WHEN n % 100 < 80 THEN 'session.begun'
    WHEN n % 100 < 92 THEN 'login.failed' WHEN n % 100 < 98 THEN 'session.ended'
    WHEN n % 10000 = 9999 THEN 'user.disabled' ELSE 'login.locked' END)"""
FILLING = f"""
INSERT INTO users (id, email, username, phone, name, password_hash, epoch, email_verified_at,
    disabled_at, second_factor_at, factors_since, labels, origin, created_at, updated_at)
    SELECT {ID}, email, CASE WHEN n % 10 < 3 THEN username END, CASE WHEN n % 5 = 0 THEN phone END,
    first || ' ' || last, '{HASH}', 0, CASE WHEN n % 10 <> 7 THEN created END,
    CASE WHEN n % 100 = 42 THEN created + interval '1 day' END,
    CASE WHEN n % 5 = 1 THEN created END, CASE WHEN n % 5 = 1 THEN created END,
    CASE WHEN n % 10 = 4 THEN '{LARGE}' END, 'registered', created, created
    FROM (SELECT n, first, last, {CREATED} AS created, '+4917' || lpad(n::text, 8, '0') AS phone,
        lower(first) || n AS username,
        lower(first || '.' || last) || n || '@' || {_chosen(DOMAINS, 3)} AS email
        FROM (SELECT n, {_chosen(FIRST, 1)} AS first, {_chosen(LAST, 2)} AS last
            FROM generate_series(1, {{users}}) AS n) AS a) AS b;
INSERT INTO login_names (key, kind, user_id) SELECT email, 'email', id FROM users
    UNION ALL SELECT username, 'username', id FROM users WHERE username IS NOT NULL
    UNION ALL SELECT phone, 'phone', id FROM users WHERE phone IS NOT NULL;
INSERT INTO groups (name, title, scopes, created_at, updated_at)
    SELECT name, name, scopes, now(), now() FROM (VALUES ('{LARGE}', 'bench:read'),
    ('{SMALL}', '')) AS a (name, scopes)
    UNION ALL SELECT 'team-' || n, 'Team ' || n, '', now(), now() FROM generate_series(1, 200) AS n;
INSERT INTO group_members (user_id, group_name, created_at)
    SELECT {ID}, '{LARGE}', now() FROM generate_series(4, {{users}}, 10) AS n
    UNION ALL SELECT {ID}, '{SMALL}', now() FROM generate_series(1, 10) AS n
    UNION ALL SELECT {ID}, 'team-' || 1 + n / 10 % 200, now()
    FROM generate_series(15, {{users}} / 10, 10) AS n;
INSERT INTO totp_factors (id, user_id, secret, digits, period, algorithm, last_step, failures,
    created_at) SELECT {ID}, {ID}, repeat('s', 80), 6, 30, 'SHA1', 0, 0, now()
    FROM generate_series(1, {{users}}, 5) AS n;
INSERT INTO clients (id, name, type, secret_hash, scope, default_scope, epoch, created_at,
    updated_at) SELECT {CLIENT}, 'Client ' || n, 'server', md5(n::text), '', '', 0,
    now() - interval '1 day' * n, now() FROM generate_series(1, {{clients}}) AS n;
INSERT INTO families (id, client_id, owner_kind, user_id, granted_scope, scope, rescoped,
    user_epoch, client_epoch, generation, created_at, rotated_at, refresh_expires_at, address,
    agent) SELECT gen_random_uuid(), {CLIENT}, 'user', {ID},
    'openid email bench:read', 'openid email bench:read', false, 0, 0, 0,
    now() - interval '20 days' * random(), now(), now() + interval '10 days', '192.0.2.1', '{AGENT}'
    FROM generate_series(4, {{users}}, 10) AS n;
INSERT INTO web_sessions (id, key_hash, user_id, user_epoch, remember, auth_at, created_at,
    used_at, expires_at, address, agent) SELECT gen_random_uuid(), md5(n::text) || md5(n::text),
    {ID}, 0, false, now(), now(), now(), now() + interval '30 days', '192.0.2.1', '{AGENT}'
    FROM generate_series(10, {{users}}, 10) AS n;
INSERT INTO personal_tokens (id, user_id, user_epoch, session_id, name, scope, created_at,
    expires_at) SELECT gen_random_uuid(), {ID}, 0, {ID}, 'backup', '', now(),
    now() + interval '30 days' FROM generate_series(6, {{users}}, 100) AS n;
INSERT INTO audit_events (at, event, user_id, client_id, address, agent, request_id, details)
    SELECT now() - interval '1 hour' - interval '{DAYS} days' * (1 - n / {{events}}.0), {EVENT},
    md5('user' || 1 + (hashint8(n) & 2147483647) % {{users}})::uuid,
    CASE WHEN n % 100 < 55 THEN md5('client' || n % {{clients}})::uuid END,
    '10.' || n % 199 || '.' || n % 251 || '.' || n % 241, '{AGENT}', md5('request' || n),
    CAST('{{{{"amr": "pwd"}}}}' AS json) FROM generate_series(1, {{events}}) AS n;
INSERT INTO outbox (id, letter, user_id, address, language, created_at, give_up_at, state, attempts,
    next_attempt_at, ended_at) SELECT gen_random_uuid(), 'welcome', {ID}, 'user' || n ||
    '@example.com', 'en', at, at + interval '1 day', CASE WHEN n % 100 = 0 THEN 'waiting'
    WHEN n % 100 = 1 THEN 'dead' ELSE 'sent' END, 1, now() + interval '1 day',
    CASE WHEN n % 100 > 0 THEN at + interval '1 day' END
    FROM (SELECT n, now() - interval '30 days' * n / {{mails}}.0 AS at
    FROM generate_series(1, {{mails}}) AS n) AS a;
INSERT INTO invitations (id, email, key, version, created_at, expires_at)
    SELECT gen_random_uuid(), 'new' || n || '@example.com', 'new' || n || '@example.com', 0,
    now() - interval '1 second' * n, now() + interval '6 days'
    FROM generate_series(1, {{invitations}}) AS n
"""  # noqa: S608  all of it is written here
INDEXES = """
SELECT 'DROP INDEX ' || i.indexrelid::regclass, pg_get_indexdef(i.indexrelid)
FROM pg_index i WHERE i.indrelid::regclass::text = ANY(:tables)
AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)
"""
KEYS = """
SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname),
format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname,
    pg_get_constraintdef(oid) || CASE contype WHEN 'f' THEN ' NOT VALID' ELSE '' END)
FROM pg_constraint WHERE contype = ANY(:kinds)
AND (conrelid::regclass::text = ANY(:tables) OR confrelid::regclass::text = ANY(:tables))
"""


def sizes(users):
    """The numbers of rows of a site with this number of users."""
    return {
        "users": users,
        "clients": 300,
        "events": max(users * 6 // 10, 1000),
        "attacks": max(users // 40, 100),  # failed logins of one user within an hour
        "mails": max(users // 100, 1000),
        "invitations": 1000,
    }


def fill(database, users):
    """Fill the empty tables for this number of users, and collect the statistics."""
    began = time.monotonic()
    with database.autocommit.connect() as connection:
        connection.execute(text("SET statement_timeout = 0"))
        connection.execute(text("SET session_replication_role = replica"))
        listed = {"tables": list(TABLES)}
        foreign = _pairs(connection, KEYS, **listed, kinds=["f"])
        keys = _pairs(connection, KEYS, **listed, kinds=["p", "u"])
        indexes = _pairs(connection, INDEXES, **listed)
        for drop, _make in (*foreign, *keys, *indexes):
            connection.exec_driver_sql(drop)
        made = [make for _drop, make in (*keys, *indexes, *foreign)]
        for statement in (*FILLING.format(**sizes(users)).split(";\n"), *made):
            _run(connection, statement.strip(), began)
        _run(connection, "VACUUM ANALYZE", began)
        _run(connection, "CHECKPOINT", began)
        connection.invalidate()  # its timeout is not that of a request


def _pairs(connection, query, **values):
    return [tuple(row) for row in connection.execute(text(query), values)]


def _run(connection, statement, began):
    print(f"{time.monotonic() - began:6.0f} s  {' '.join(statement.split())[:90]}", flush=True)
    connection.exec_driver_sql(statement.replace("%", "%%"))
