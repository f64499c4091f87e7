"""Each reason through the whole stack: what is answered, the log line, and ``authsite explain``."""

import json
import time
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import pytest

from authsite.platform.denied_requests import service
from authsite.platform.http.errors import denied
from authsite.platform.i18n import translate
from authsite.server.request_log import RequestLine, as_object, as_text
from tests.denied_requests.cases import CASES
from tests.support.in_process import Commands


def line_of(answer):
    """The line that `authsite serve` writes for the request."""
    environ = answer.request.environ
    return RequestLine(
        time.time(), "GET", "/", answer.status_int, 0.1, answer.headers["X-Request-Id"],
        denied(environ, answer.status_int),
    )  # fmt: skip


def description_of(answer):
    """What the program is told, whichever way; None for a page and for an answer of success."""
    if answer.content_type == "application/json":
        return answer.json.get("error_description", answer.json.get("message"))
    if answer.status_int in (302, 303):
        return dict(parse_qsl(urlsplit(answer.location).query)).get("error_description")
    return None


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_denied_request(world, tmp_path, name):
    answer, shown = CASES[name](world)
    site, id_ = world.site, answer.headers["X-Request-Id"]
    reason = service.reason_of(site.app.registry["authsite"], name)

    # The answer.
    if answer.status_int >= 400:
        assert answer.status_int == reason.status
    if answer.content_type == "text/html":
        assert translate(reason.person).partition("${")[0] in unescape(answer.text)
        assert id_ in answer.text or "Error:" in answer.html.title.text  # a form, sent again
    elif (text := description_of(answer)) is not None:
        assert text.startswith(reason.developer.partition("${")[0])
        assert answer.content_type != "application/json" or answer.json.get("error", "") in (
            reason.error,
            "",
        )

    # The log line.
    line = line_of(answer)
    assert line.error.why is reason
    logged = json.loads(as_object(line))
    assert reason.meaning in (logged.get("meaning"), logged["reason"])
    assert logged.items() >= shown.items()
    assert all(repr(value) in as_text(line) for value in shown.values())

    # What the operator is shown.
    world.notes.write()
    [found] = Commands(site, tmp_path).json("explain", id_)["denied"]
    assert found["reason"] == name
    assert found["meaning"] == reason.meaning
    known = {**found["details"], "client": found["client_id"]}
    assert known.items() >= shown.items()
    printed = Commands(site, tmp_path).run("explain", id_).stdout
    assert all(value in printed for value in shown.values())
    # Once, also where the audit trail has an event of the same.
    heads = [line for line in printed.splitlines() if not line.startswith("  ")]
    assert sum(reason.meaning in line for line in heads) == 1
