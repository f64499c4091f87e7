"""Where rows come from: dumps are read as their programs write them, and nothing is guessed."""

import gzip
import sqlite3

import pytest

from authsite.transfer.importing import passport
from authsite.transfer.importing import rows as row_values
from authsite.transfer.importing.own import ExportSource
from authsite.transfer.importing.rows import Fault, SourceUnusable
from authsite.transfer.importing.sources import open_source
from tests.support import foreign_systems as other

NASTY = [
    "plain",
    "O'Hara \\ \"x\" \\' ''",
    "two\nlines\r\n\ttab",
    "a;b),(1,'x'); -- /* */",
    "nul\0 and \x1a",
    "日本 \N{GRINNING FACE}",
    "\\N",
    "x" * 100_000,
    "');\nINSERT INTO `users` VALUES (9,'Eve','eve@example.com');\n",
    "\\.\nCOPY public.users (id, name) FROM stdin;\n9\tEve\n\\.\n",
]
COLUMNS = ("id", "name", "email")


def rows(source, table="users"):
    return [dict(row.values) for row in source.rows(table)]


def written(folder, text):
    path = folder / "dump.sql"
    path.write_bytes(text.encode())
    return open_source(str(path), "users")


def test_values_of_a_dump_are_what_they_were_whatever_they_contain(tmp_path):
    given = [{"id": number, "name": name, "email": None} for number, name in enumerate(NASTY)]
    tables = {"notes": (COLUMNS, given), "users": (COLUMNS, given)}
    expected = [{**row, "id": str(row["id"])} for row in given]
    assert rows(written(tmp_path, other.mysql_dump(**tables))) == expected
    without_nul = [row for row in given if "\0" not in row["name"]]  # PostgreSQL stores none
    tables = {"notes": (COLUMNS, without_nul), "users": (COLUMNS, without_nul)}
    expected = [{**row, "id": str(row["id"])} for row in without_nul]
    assert rows(written(tmp_path, other.postgresql_dump(**tables))) == expected
    url = other.sqlite_database(tmp_path / "db", users=(COLUMNS, given))
    assert rows(open_source(url, "users")) == given


def test_other_forms_of_an_insert(tmp_path):
    head = "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19  Distrib 10.11\n"
    create = "CREATE TABLE `users` (\n  `id` int(11) NOT NULL,\n  `b` blob,\n  `n` double\n) X;\n"
    text = (
        "INSERT INTO `users` VALUES\n(1,_binary 'a\\'',-1.5e3),\n(2,0x4142,NULL);\n"
        "INSERT IGNORE INTO `users` (`n`, `id`) VALUES (7,3);\n"
        "REPLACE INTO `users` VALUES (4,'',0),(5,0x141,0);"
    )
    assert [list(row.items()) for row in rows(written(tmp_path, head + create + text))] == [
        [("id", "1"), ("b", "a'"), ("n", "-1.5e3")],
        [("id", "2"), ("b", "AB"), ("n", None)],
        [("n", "7"), ("id", "3")],
        [("id", "4"), ("b", ""), ("n", "0")],
        [("id", "5"), ("b", "\1A"), ("n", "0")],
    ]


INSERT = "-- MySQL dump 10.13\nINSERT INTO `users` (`id`, `name`, `email`) VALUES"
PG, COPY = "-- PostgreSQL database dump\n", "COPY public.users (id, name) FROM stdin;\n"


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("PGDMP\0\1", "pg_restore --file=dump.sql"),
        ("SQLite format 3\0", "give sqlite:///"),
        ("INSERT INTO users VALUES (1);", "not a dump that authsite can read"),
        (f"{INSERT} (1,now());\n", "INSERT cannot be read"),
        (f"{INSERT} (1,'open\n", "cut off: .*INSERT"),
        (f"{INSERT} (1,'Ann','a@b.de'),\n(2", "cut off: .*INSERT"),
        (f"{INSERT} (1,'Ann','a@b.de'),(2,now()),\n(3,'x','y');\n", "INSERT cannot be read"),
        (f"{INSERT} (1);\n", "1 values and the table 3 columns"),
        (f"{INSERT} (1,2,3) ON\n", "INSERT cannot be read"),
        (f"{INSERT} (1,2,3),\n", "cut off: it ends in the middle of an INSERT"),
        (PG + COPY.replace("COPY public.", "INSERT INTO "), "made with --inserts"),
        (f"{PG}{COPY}1\n\\.\n", "row of users cannot be read"),
        (f"{PG}{COPY}1\tAnn", "cut off: it ends in the middle of a table"),
        (f"{PG}{COPY}1\tAnn\n", "cut off: it ends in the middle of a table"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_says_what_can(tmp_path, text, advice):
    with pytest.raises(SourceUnusable, match=advice):
        rows(written(tmp_path, text))


def test_a_table_of_two_schemas_is_read_from_the_one_that_is_named(tmp_path):
    copied = "COPY {}.users (id, name) FROM stdin;\n{}\tAnn\n\\.\n"
    dumped = f"{PG}{copied.format('auth', 1)}{copied.format('public', 2)}"
    values = "USE `{}`;\nINSERT INTO `users` (`id`) VALUES ({});\n"
    dumps = (dumped, f"-- MySQL dump 10.13\n{values.format('auth', 1)}{values.format('public', 2)}")
    for text in dumps:
        source = written(tmp_path, text)
        for schema, id_ in (("auth", "1"), ("public", "2")):
            assert [row["id"] for row in rows(source, f"{schema}.users")] == [id_]
        assert not source.has("shop.users")
        with pytest.raises(SourceUnusable, match=r"--users-table auth\.users or public\.users"):
            source.has("users")
    assert rows(written(tmp_path, "-- MySQL dump\nINSERT INTO `users` (`id`) VALUES (1);\n")) == [
        {"id": "1"}
    ]


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("id,email\r1,ann@example.com\r", "line 1: .*line ends"),
        (f"id,{'x' * (1 << 20)}x\n", "line 1: field larger"),
        ("id,email,id\n1,ann@example.com,2\n", "line 1: .*twice: id"),
        ("\n1,ann@example.com\n", "line 1: .*names of the columns"),
        (f"id,email\n1,{'x' * (1 << 20)}x\n", "line 2: field larger .*start again"),
    ],
)
def test_a_table_that_cannot_be_read_is_an_error_that_names_the_line(tmp_path, text, advice):
    (tmp_path / "users.csv").write_bytes(text.encode())
    source = open_source(str(tmp_path / "users.csv"), "users")
    with pytest.raises(SourceUnusable, match=advice):
        rows(source)


def test_a_file_that_cannot_be_opened_is_an_error_that_names_it(tmp_path):
    (tmp_path / "users.csv").mkdir()  # as root, no mode prevents that a file is read
    with pytest.raises(SourceUnusable, match=r"users\.csv: Is a directory"):
        rows(open_source(str(tmp_path), "users"))


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        ("missing.sql", "no such file"),
        ("sqlite:///missing.sqlite", "no such file"),
        ("oracle+unknown://host/db", "none of PostgreSQL, MySQL or SQLite"),
        ("MySQL+pymysql://me:secret@db", "none of PostgreSQL, MySQL or SQLite"),
        ("postgresql://me:secret@db:port\n/", "none of PostgreSQL, MySQL or SQLite"),
        ("postgresql://me:top@secret@db/shop", "percent-encoded"),
        ("sqlite:///secret.sqlite", "no such file"),
        ("http://example.com/", "none of PostgreSQL, MySQL or SQLite"),
        ("mysql+pymysql://me:secret@localhost/db", "pip install pymysql"),
        ("postgresql://me:secret@127.0.0.1:1/db?connect_timeout=1", "the source database reported"),
    ],
)
def test_a_source_that_cannot_be_opened_is_an_error_without_its_password(source, advice):
    with pytest.raises(SourceUnusable, match=advice) as raised:
        open_source(source, "users")
    assert "secret" not in str(raised.value)


def test_an_export_is_a_file_and_a_line_that_is_too_deep_a_fault_of_this_line(tmp_path):
    with pytest.raises(SourceUnusable, match="no URL") as raised:
        ExportSource("postgresql://me:secret@db/")
    assert "secret" not in str(raised.value)
    path, deep = tmp_path / "export.jsonl", "[" * 100_000
    path.write_text(f'{{"type": "export"}}\n{deep}\n{{"type": "end"}}\n')
    [row] = ExportSource(str(path)).rows("user")
    assert row.fault == "is not a JSON object"
    path.write_text(deep)
    with pytest.raises(SourceUnusable, match="is not a file of"):
        ExportSource(str(path))
    row = {**other.client(1), "grant_types": deep}
    with pytest.raises(Fault, match="is not a JSON list"):
        passport.client(passport.ClientOptions({}), row)


def test_a_zero_date_of_mysql_is_none():
    for zero in ("0000-00-00", "0000-00-00 00:00:00", "0000-00-00 00:00:00.000000"):
        assert row_values.moment({"created_at": zero}, "created_at") is None


def test_a_bit_of_mysql_is_a_boolean():
    values = {"bytes": (b"\1", b"\0"), "text": ("\1", "\0")}
    for true, false in values.values():
        assert row_values.flag({"revoked": true}, "revoked") is True
        assert row_values.flag({"revoked": false}, "revoked") is False


def test_csv_of_a_spreadsheet_and_a_folder_of_tables(tmp_path):
    path = tmp_path / "users.csv"
    path.write_bytes('\ufeffid;name\r\n1;"a;b\nc"\r\n2;\r\n'.encode())
    expected = [{"id": "1", "name": "a;b\nc"}, {"id": "2", "name": None}]
    assert rows(open_source(str(path), "people"), "people") == expected
    folder = open_source(str(tmp_path), "people")
    assert (folder.has("users"), folder.has("people")) == (True, False)
    assert [row.number for row in folder.rows("users")] == [3, 4]
    assert [*folder.rows("users")][-1].done == folder.size("users")


def test_a_database_is_only_read_and_text_that_is_not_utf_8_is_no_end(tmp_path):
    url = other.sqlite_database(tmp_path / "db", users=(COLUMNS, [other.user(1)]))
    with sqlite3.connect(tmp_path / "db") as connection:
        connection.execute("UPDATE users SET name = CAST(x'e9' AS TEXT)")
    connection.close()
    assert [row["name"] for row in rows(open_source(url, "users"))] == ["\udce9"]


def test_a_compressed_dump_is_to_be_decompressed(tmp_path):
    path = tmp_path / "dump.sql.gz"
    path.write_bytes(gzip.compress(b"-- MySQL dump"))
    with pytest.raises(SourceUnusable, match="gunzip"):
        open_source(str(path), "users")


def test_l4_a_long_run_of_blanks_is_read_in_linear_time(tmp_path):
    """L4: 60,000 blanks took 3.5 s, and each doubling four times as long."""
    text = f"-- MySQL dump\nINSERT INTO `users`{' ' * 1_000_000}(\n"
    assert rows(written(tmp_path, text)) == []
