"""What an import writes beside the rows, and when it fails as a whole."""

import csv

import pytest
from click.testing import CliRunner

from authsite.cli import authsite
from tests.importing.csv_rows import good, write_csv
from tests.support import foreign_systems as other
from tests.support.in_process import write_ini


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_no_output_is_a_file_of_the_source_or_the_other_output(site, importing, tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir(mode=0o700)
    path = write_csv(folder / "users.csv", [good("good")])
    path.chmod(0o600)
    (tmp_path / "link.csv").symlink_to(path)
    (tmp_path / "hard.csv").hardlink_to(path)
    url = other.sqlite_database(
        folder / "db", auth_user=(other.DJANGO_USERS, [other.django_user(1)])
    )
    (folder / "db").chmod(0o600)
    own = site.url.removeprefix("sqlite:///")
    before = path.read_bytes(), (folder / "db").read_bytes()
    for kind, source, ids in (
        ("csv", path, path),
        ("csv", path, tmp_path / "link.csv"),
        ("csv", path, tmp_path / "hard.csv"),
        ("csv", folder, path),
        ("django", url, folder / "db"),
        ("csv", path, own),
        ("csv", path, tmp_path / "report.jsonl"),
        ("csv", path, tmp_path / "shop" / ".." / "report.jsonl"),
    ):
        for dry in ([], ["--dry-run"]):
            message = importing(kind, source, "--ids", ids, *dry, status=1)
            assert "is another file of this command" in message
    assert (path.read_bytes(), (folder / "db").read_bytes()) == before
    assert site.events() == []


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_no_id_is_a_formula_in_a_spreadsheet(site, importing, tmp_path):
    names = ["=1+1", "+1", "-1", "@A1", "a=1"]
    rows = [{**good(f"u{n}"), "id": name} for n, name in enumerate(names)]
    ids = tmp_path / "ids.csv"
    importing("csv", write_csv(tmp_path / "users.csv", rows), "--ids", ids)
    with ids.open(newline="") as file:
        assert [line["source_id"] for line in csv.DictReader(file)] == [
            "'=1+1", "'+1", "'-1", "'@A1", "a=1",
        ]  # fmt: skip


def test_a_report_that_others_may_read_is_not_written(site, importing, tmp_path):
    path = write_csv(tmp_path / "users.csv", [good("good")])
    ids = tmp_path / "ids.csv"
    ids.write_text("kept")
    ids.chmod(0o644)
    assert f"chmod 600 {ids}" in importing("csv", path, "--ids", ids, status=1)
    assert ids.read_text() == "kept"
    assert site.events() == []
    ids.chmod(0o600)
    importing("csv", path, "--ids", ids)
    assert ids.read_text().startswith("table,source_id,id\nusers,good,")
    assert (tmp_path / "report.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_f10_an_import_that_took_no_row_ends_with_status_1(importing, tmp_path, dry):
    path = write_csv(tmp_path / "users.csv", [{**good("a"), "email": "no address"}])
    assert "nothing was imported" in importing("csv", path, *dry, status=1)
    assert "nothing was imported" in importing("csv", write_csv(path, []), *dry, status=1)


def test_f10_an_import_whose_rows_are_all_there_already_succeeds(importing, tmp_path):
    path = write_csv(tmp_path / "users.csv", [good("a")])
    for _ in range(2):
        importing("csv", path)


def test_f10_a_table_without_a_needed_column_is_one_sentence_about_its_header(importing, tmp_path):
    path = write_csv(tmp_path / "users.csv", [{"id": "1", "name": "A"}] * 3, ("id", "name"))
    message = importing("csv", path, status=1)
    assert "has no column email, but id, name: name its columns as in docs/moving.md" in message
    message = importing("django", write_csv(path, [], ("name",)), status=1)
    assert "has no column id and no column email, but name" in message


def test_f11_a_file_in_latin_1_is_said_not_to_be_utf_8(importing, tmp_path):
    path = tmp_path / "users.csv"
    path.write_bytes("id,email,name\n1é,a@example.com,A\n2,b@example.com,Zoé\n".encode("latin-1"))
    message = importing("csv", path, status=1)
    assert "nothing was imported" in message
    reasons = (tmp_path / "report.jsonl").read_text().splitlines()
    assert [reason.count("is not UTF-8; save the source in UTF-8") for reason in reasons] == [1, 1]
    assert "iconv -f latin1 -t utf-8" in reasons[0]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_columns_that_are_ignored_are_named(site, tmp_path, dry):
    names = ("sub", "id", "email", "email_verified", "given_name", "status")
    rows = [{"sub": "x", "id": "1", "email": "a@example.com", "email_verified": "true"}]
    path = write_csv(tmp_path / "users.csv", rows, names)
    ini = write_ini(tmp_path / "site.ini", site.url)
    given = ["import", "csv", str(path), "--config", ini, *dry]
    said = "users: columns ignored: sub, email_verified, given_name, status"
    assert said in CliRunner().invoke(authsite, given).stdout
    assert said in CliRunner().invoke(authsite, [*given, "--json"]).stderr
    path = write_csv(path, [good("a")])
    assert "ignored" not in CliRunner().invoke(authsite, given).stdout


def test_the_text_of_a_time_is_whole_in_the_summary(site, tmp_path):
    path = write_csv(tmp_path / "users.csv", [good("a"), {**good("b"), "created_at": "soon"}])
    ini = write_ini(tmp_path / "site.ini", site.url)
    done = CliRunner().invoke(authsite, ["import", "csv", str(path), "--config", ini])
    assert "created_at: is not a date and time such as 2026-01-31 23:59:59" in done.stdout
