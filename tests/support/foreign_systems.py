"""Databases and dumps of other systems, in their own layout."""

import json
import sqlite3

import bcrypt

PASSPORT_USERS = (
    "id", "name", "email", "email_verified_at", "password", "remember_token", "created_at",
    "updated_at",
)  # fmt: skip
PASSPORT_CLIENTS = (
    "id", "user_id", "name", "secret", "provider", "redirect", "personal_access_client",
    "password_client", "revoked", "created_at", "updated_at",
)  # fmt: skip
PASSPORT_13_CLIENTS = (
    "id", "owner_type", "owner_id", "name", "secret", "provider", "redirect_uris", "grant_types",
    "revoked", "created_at", "updated_at",
)  # fmt: skip
DJANGO_USERS = (
    "id", "password", "last_login", "is_superuser", "username", "first_name", "last_name", "email",
    "is_staff", "is_active", "date_joined",
)  # fmt: skip
MADE = "2021-03-04 05:06:07"


def php_hash(password, cost=5):
    """What ``password_hash`` of PHP makes of a password, or of a client secret."""
    hashed = bcrypt.hashpw(password.encode()[:72], bcrypt.gensalt(cost)).decode()
    return hashed.replace("$2b$", "$2y$", 1)


def user(number, **more):
    """A row of Laravel's ``users``."""
    return {
        "id": number,
        "name": f"User {number}",
        "email": f"user{number}@example.com",
        "email_verified_at": MADE,
        "password": None,
        "created_at": MADE,
        "updated_at": MADE,
        **more,
    }


def client(number, **more):
    """A row of Passport's ``oauth_clients``, before version 13."""
    return {
        "id": number,
        "name": f"Client {number}",
        "redirect": "http://localhost",
        "personal_access_client": 0,
        "password_client": 0,
        "revoked": 0,
        "created_at": MADE,
        "updated_at": MADE,
        **more,
    }


def django_user(number, **more):
    """A row of Django's ``auth_user``."""
    return {
        "id": number,
        "password": "!" + "x" * 40,
        "is_superuser": 0,
        "username": f"user{number}",
        "first_name": "",
        "last_name": "",
        "email": f"user{number}@example.com",
        "is_staff": 0,
        "is_active": 1,
        "date_joined": "2021-03-04 05:06:07.123456+00:00",
        **more,
    }


def sqlite_database(path, **tables):
    """The URL of a SQLite database; ``tables``: name -> (columns, rows)."""
    with sqlite3.connect(path) as connection:
        for name, (columns, rows) in tables.items():
            connection.execute(f"CREATE TABLE {name} ({', '.join(columns)}, PRIMARY KEY (id))")
            marks = ", ".join("?" * len(columns))
            values = [[row.get(column) for column in columns] for row in rows]
            statement = f"INSERT INTO {name} VALUES ({marks})"  # noqa: S608 our own names
            connection.executemany(statement, values)
    connection.close()
    return f"sqlite:///{path}"


def mysql_dump(**tables):
    """What mysqldump writes; ``tables``: name -> (columns, rows)."""
    parts = ["-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)\n--\n"]
    for name, (columns, rows) in tables.items():
        fields = ",\n".join(f"  `{column}` varchar(255) DEFAULT NULL" for column in columns)
        parts.append(f"DROP TABLE IF EXISTS `{name}`;\n")
        parts.append(
            f"CREATE TABLE `{name}` (\n{fields},\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB;\n"
        )
        values = ",".join(
            f"({','.join(_mysql(row.get(column)) for column in columns)})" for row in rows
        )
        parts.append(f"LOCK TABLES `{name}` WRITE;\nINSERT INTO `{name}` VALUES {values};\n")
        parts.append("UNLOCK TABLES;\n")
    return "".join(parts)


def _mysql(value):
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    special = {"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n", "\r": "\\r", "\0": "\\0"}
    return "'" + "".join(special.get(letter, letter) for letter in value) + "'"


def postgresql_dump(**tables):
    """What pg_dump writes; ``tables``: name -> (columns, rows)."""
    parts = ["--\n-- PostgreSQL database dump\n--\n\nSET statement_timeout = 0;\n"]
    for name, (columns, rows) in tables.items():
        parts.append(f"COPY public.{name} ({', '.join(columns)}) FROM stdin;\n")
        parts += ["\t".join(_copy(row.get(each)) for each in columns) + "\n" for row in rows]
        parts.append("\\.\n\n")
    return "".join(parts)


def _copy(value):
    if value is None:
        return r"\N"
    special = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return "".join(special.get(letter, letter) for letter in str(value))


def grants(*names):
    """Passport 13's column ``grant_types``."""
    return json.dumps(names)
