"""``authsite doctor --production``: what it tries out, and how it ends."""

import json
import re
import shutil
from collections import namedtuple
from contextlib import ExitStack

import psycopg
import pytest
from click.testing import CliRunner

from authsite.checks import arrival
from authsite.checks.arrival import connections_finding, hash_finding, production_findings
from authsite.cli import authsite
from authsite.cli.doctor import examine
from tests.support.servers import free_port
from tests.support.site import SECRET
from tests.support.smtp import mail_server
from tests.support.tiny_server import tiny_server

GOOD = {"mail_driver": "smtp", "base_url": "http://localhost"}
SECRET_OF_MAIL = "geheim7Qm2Xv"


def findings(site, subject):
    """The findings about one subject, as (state, message)."""
    return [(f.state, f.message) for f in production_findings(site.cfg) if f.subject == subject]


def test_the_database_is_tried_out(site):
    about = findings(site, "database-url")
    if site.url.startswith("sqlite"):
        [(_state, message)] = about
        assert "MiB are free in" in message
    else:
        assert ("ok", "the database is on this machine") in about
        assert "the server allows" in findings(site, "connections")[0][1]


@pytest.mark.parametrize(("free", "state"), [(99, "wrong"), (1000, "change"), (2000, "ok")])
def test_a_disk_that_is_nearly_full_is_named(site, monkeypatch, free, state):
    usage = namedtuple("usage", "total used free")
    disk = usage(0, 0, free * 1024 * 1024)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: disk)
    if site.url.startswith("sqlite"):
        [(found, message)] = findings(site, "database-url")
        assert found == state
        assert message.startswith(f"{free} MiB are free")


@pytest.mark.parametrize(
    ("allowed", "workers", "others", "state"),
    [
        (97, 2, 0, "ok"),
        (97, 2, 49, "ok"),
        (97, 2, 50, "change"),
        (96, 2, 0, "ok"),
        (95, 2, 0, "change"),
        (97, 3, 0, "change"),
        (97, 4, 0, "change"),
    ],
)
def test_f12_workers_that_take_half_of_the_connections_are_named(allowed, workers, others, state):
    found = connections_finding(allowed, workers, others)
    assert found.state == state
    assert f"{workers} workers use up to {24 * workers} connections, {others} are open" in (
        found.message
    )


def test_f12_doctor_counts_the_workers_that_it_is_told_and_the_connections_of_others(site):
    if site.url.startswith("sqlite"):
        pytest.skip("SQLite has no connections to a server")
    [before] = [f.message for f in production_findings(site.cfg, 7) if f.subject == "connections"]
    assert before.startswith("7 workers use up to 168 connections")

    def opened():
        [(_, message)] = findings(site, "connections")
        return int(re.search(r"(\d+) are open", message)[1])

    count = opened()
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(psycopg.connect(site.url))
        assert opened() >= count + 3  # those of tests beside this one come and go
    done = CliRunner().invoke(authsite, ["doctor", "--workers", "3"])
    assert done.exit_code == 2


@pytest.mark.parametrize(("ms", "state"), [(49, "change"), (250, "ok"), (1001, "change")])
def test_a_hash_that_is_too_fast_or_too_slow_is_named(ms, state):
    finding = hash_finding(12, ms)
    assert finding.state == state
    assert f"takes {ms} ms" in finding.message


def test_a_mail_server_is_asked_and_gets_no_mail(site_with):
    with mail_server() as server:
        site = site_with(smtp_url=f"smtp://127.0.0.1:{server.port}", **GOOD)
        assert findings(site, "smtp-url") == [("ok", f"127.0.0.1:{server.port} takes mails")]
        assert server.taken == []


def test_a_mail_server_that_cannot_be_used_is_named_without_its_password(site_with):
    port = free_port()
    site = site_with(smtp_url=f"smtp://user:{SECRET_OF_MAIL}@127.0.0.1:{port}", **GOOD)
    [(state, message)] = findings(site, "smtp-url")
    assert state == "wrong"
    assert f"127.0.0.1:{port} cannot be used" in message
    with mail_server() as server:  # offers no TLS
        url = f"smtp://user:{SECRET_OF_MAIL}@127.0.0.1:{server.port}?starttls=1"
        [(state, refused)] = findings(site_with(smtp_url=url, **GOOD), "smtp-url")
    assert state == "wrong"
    assert SECRET_OF_MAIL not in message + refused


def test_a_driver_that_sends_nothing_is_wrong(site):
    [(state, message)] = findings(site, "mail-driver")
    assert (state, message) == ("wrong", "file sends no mail: give smtp")


@pytest.mark.parametrize(("status", "state"), [(200, "ok"), (500, "change")])
def test_the_breach_check_is_asked_if_it_is_on(site_with, status, state):
    with tiny_server(lambda _request: (status, {}, b"")) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}/range"
        [(found, _)] = findings(site_with(password_breach_check=url), "password-breach-check")
    assert found == state


def test_it_says_who_may_read_the_metrics(site_with, site):
    assert "only from this machine" in findings(site, "metrics-token")[0][1]
    with_token = site_with(metrics_token="nJ7wq2Vx0RkLm9TzYb4cHd6FsGa8PeUi1oXvCtQy")
    assert "with the token" in findings(with_token, "metrics-token")[0][1]


@pytest.fixture
def ini(tmp_path, site, monkeypatch):
    path = tmp_path / "some.ini"
    path.write_text(
        f"[app:main]\nuse = egg:authsite\nauthsite.secret = {SECRET}\n"
        f"authsite.database-url = {site.url}\n"
    )
    path.chmod(0o600)
    monkeypatch.setattr(arrival, "HASH", (0, 60_000))
    return str(path)


def test_what_production_would_not_start_with_is_an_error_only_with_production(ini):
    def states(**how):
        return {f.subject: f.state for f in examine(ini, **how) if f.state != "ok"}

    assert states()["production"] == states()["base-url"] == "change"
    assert states(production=True)["production"] == states(production=True)["base-url"] == "wrong"
    assert "metrics-token" not in {f.subject for f in examine(ini)}


def test_the_report_has_a_mark_a_line_and_a_closing_line_and_ends_with_its_status(ini):
    shown = CliRunner().invoke(authsite, ["doctor", "--verbose", "--config", ini, "--production"])
    *lines, last = shown.output.splitlines()
    assert {line.split()[0] for line in lines} == {"OK", "NOTE", "WARNING", "ERROR"}
    errors = sum(line.startswith("ERROR") for line in lines)
    warnings = sum(line.startswith("WARNING") for line in lines)
    counted = f"{errors} error{'s' * (errors != 1)}, {warnings} warning{'s' * (warnings != 1)}"
    assert last == f"{counted}: not ready for production"
    assert shown.exit_code == 1
    as_json = CliRunner().invoke(authsite, ["doctor", "--config", ini, "--production", "--json"])
    assert len(json.loads(as_json.output)["findings"]) == len(lines)
    assert as_json.exit_code == 1
    assert SECRET not in shown.output + as_json.output
