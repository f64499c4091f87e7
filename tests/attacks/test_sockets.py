"""Bytes of any kind sent to a running server: never 5xx, never hanging, always the right shape."""

import json
import random
import re
import socket
import time
from contextlib import suppress

import pytest

from tests.support import databases
from tests.support.endpoints import IN_PATHS, OAUTH, views_and_patterns
from tests.support.extent import seed, volume
from tests.support.pages import sign_in
from tests.support.servers import serving, write_ini
from tests.support.site import WEB, Site

from .raw_requests import cases

pytestmark = pytest.mark.slow
SEED, CASES = seed(14), volume(500, 2_500)
SECONDS = 10  # a busy machine takes some; the server itself waits longer for what is not whole
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
NO_BODY = (204, 304)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sockets")
    url = databases.migrated(databases.new_url("sqlite", folder, "sockets"))
    site = Site(url, **WEB)
    with serving(write_ini(folder, url, **WEB)) as http:
        http.let_in = let_in(site)
        yield http
    site.database.dispose()


def let_in(site):
    """Headers of users who are signed in: logging out ends one of them."""
    keys = site.first_party("web")
    site.user()
    found = [("X-Nothing", "x")] * 10
    for _ in range(20):
        found.append(("Authorization", f"Bearer {site.login(keys)['access_token']}"))
        site.http.reset()
        sign_in(site)
        found.append(("Cookie", f"authsite={site.http.cookies['authsite']}"))
    return found


def test_no_bytes_confuse_the_server(server):
    paths = sorted({pattern.format(**IN_PATHS) for _, pattern in views_and_patterns()})
    assert len(paths) > 40
    source = random.Random(SEED)  # noqa: S311  # the same bytes in each run
    address = (server.base_url.host, server.base_url.port)
    for number, case in enumerate(cases(source, paths, server.let_in, CASES)):
        try:
            check(case, talk(address, case))
        except AssertionError as error:
            raise AssertionError(f"case {number}, {error}: {case.data[:400]!r}") from error
    assert server.get("/healthz").status_code == 200
    log = server.log.read_text(errors="replace")
    assert "Traceback" not in log
    assert "internal_error" not in log


def talk(address, case):
    """What the server sends till it closes the connection, or till its answer is complete."""
    deadline, seen = time.monotonic() + SECONDS, b""
    with (
        socket.create_connection(address, SECONDS) as connection,
        suppress(ConnectionError),
    ):
        connection.sendall(case.data)
        if not case.whole:
            with suppress(OSError):  # the server has closed it already
                connection.shutdown(socket.SHUT_WR)
        while not (case.whole and is_complete(seen, case.method)):
            connection.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                chunk = connection.recv(65536)
            except TimeoutError:
                raise AssertionError(f"it hangs after {seen!r}") from None
            if not chunk:
                break
            seen += chunk
    return seen


def is_complete(seen, method):
    """Whether ``seen`` is a whole response."""
    head, blank, body = seen.partition(b"\r\n\r\n")
    if not blank:
        return False
    if head.startswith(b"HTTP/1.1 100"):
        return is_complete(body, method)
    if method == "HEAD" or int(_STATUS.match(head)[1]) in NO_BODY:
        return True
    length = _LENGTH.search(head + b"\r\n")
    return length is not None and len(body) >= int(length[1])


def check(case, seen):
    """A whole request has an answer; each answer has a status and a body of the contract."""
    assert seen or not case.whole, "no answer"
    statuses = [int(status) for status in re.findall(rb"(?:^|\n|\}|>)HTTP/1\.[01] (\d{3}) ", seen)]
    assert bool(statuses) == bool(seen), f"no HTTP: {seen[:200]!r}"
    assert all(status < 500 for status in statuses), f"{statuses}: {seen[:300]!r}"
    if case.whole and case.method != "HEAD":
        check_body(case, seen)


def check_body(case, seen):
    head, _, body = seen.partition(b"\r\n\r\n")
    status = int(_STATUS.match(seen)[1])
    if status < 400 or not body:  # the server's own refusals have no body
        return
    if b"application/json" in head.lower():
        found = json.loads(body)
        oauth = case.path.startswith(OAUTH)
        assert set(found) >= ({"error", "message"} if oauth else {"message", "errors"}), found
    else:
        assert body.lstrip().lower().startswith(b"<!doctype html>"), seen[:300]
