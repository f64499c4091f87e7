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
from tests.denied_requests.cases import CASES, Denied

OTHER_WORDS = {
    "login.denied": "the page says what the condition has raised",
    "passkey.other_user": "the page of the second proof has one text for all passkeys",
}
"""Where the page has another text than the table, with why."""


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
def test_a_denied_request(world, name):
    answer, shown = CASES[name](world)
    reason = service.reason_of(world.site.app.registry["authsite"], name)
    check = a_reason_of_an_answer if reason.in_answer else a_reason_for_the_operator
    check(world, world.commands(), name, reason, Denied(answer, shown))


def a_reason_of_an_answer(world, commands, name, reason, denial):
    answer, shown = denial
    id_ = answer.headers["X-Request-Id"]

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
    [found] = commands.json("explain", id_)["denied"]
    assert found["reason"] == name
    assert found["meaning"] == reason.meaning
    known = {**found["details"], "client": found["client_id"]}
    assert known.items() >= shown.items()
    printed = commands.run("explain", id_).stdout
    assert all(value in printed for value in (*shown.values(), found["developer"]))
    # Once, also where the audit trail has an event of the same.
    heads = [line for line in printed.splitlines() if not line.startswith("  ")]
    assert sum(reason.meaning in line for line in heads) == 1


def a_reason_for_the_operator(world, commands, name, reason, denial):
    """The answer has the text for the person, and neither of the others: `explain` has them."""
    answer, shown = denial
    text = unescape(answer.text)
    assert reason.meaning not in text
    assert reason.developer not in text

    world.notes.write()
    id_ = answer.headers["X-Request-Id"]
    explained = commands.json("explain", id_)
    rows = [*explained["events"], *explained["denied"]]
    found = [row for row in rows if reason.meaning in row["meaning"]]
    assert found
    for row in found:
        assert row["details"].items() >= shown.items()
        assert row["person"]
    assert any(reason.developer in row["developer"] for row in found)
    if name not in OTHER_WORDS:
        page = unescape(answer.follow().text) if answer.status_int == 303 else text
        assert all(row["person"].partition(".")[0] in page for row in found)
    printed = commands.run("explain", id_).stdout
    assert all(value in printed for value in (*shown.values(), reason.developer))


def test_the_login_page_says_the_same_for_all_that_prove_no_user(world):
    """Which accounts there are is not told by the text of the page."""
    uniform = ("login.wrong_password", "login.unknown_name", "login.disabled")
    pages = [CASES[name](world).answer for name in uniform]
    assert len({page.html.select_one(".summary").get_text() for page in pages}) == 1
    passkeys = [name for name in CASES if name.startswith("passkey.")]
    pages = [CASES[name](world).answer for name in passkeys]
    of_login = [each for each in pages if each.request.path == "/login/passkey"]
    assert len(of_login) > 10
    assert len({page.html.select_one(".summary").get_text() for page in of_login}) == 1
    assert len({page.status_int for page in of_login}) == 1
