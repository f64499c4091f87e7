"""No secret, token, code or verifier is in a response, a log line, the table or ``explain``."""

import json
import re
from urllib.parse import parse_qsl, urlencode

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs
from webtest import TestApp

from authsite.platform.denied_requests.models import DeniedRequest
from authsite.server.request_log import as_object, as_text
from tests.denied_requests.cases import CASES
from tests.denied_requests.test_each_reason import line_of
from tests.support.in_process import Commands

# The names of what is secret in a form, a query, a header or a JSON answer.
SECRET = (
    "client_secret", "code", "code_verifier", "refresh_token", "access_token", "password", "token",
    "device_code", "mfa_token", "id_token_hint", "credential", "otp", "csrf_token",
)  # fmt: skip
BEARER = re.compile(r"(?:Bearer|Basic|Token) (\S{8,})")


class Sent:
    """Notes every value that a test sends and that is secret."""

    def __init__(self, monkeypatch):
        self.values = set()
        send = TestApp.do_request

        def noting(app, request, *args, **more):
            texts = (request.query_string.encode("latin-1"), request.body)
            pairs = [pair for text in texts for pair in parse_qsl(text.decode(errors="replace"))]
            self.values |= {value for name, value in pairs if name in SECRET}
            self.values |= set(BEARER.findall(request.headers.get("Authorization", "")))
            return send(app, request, *args, **more)

        monkeypatch.setattr(TestApp, "do_request", noting)


@pytest.mark.parametrize("name", sorted(CASES))
def test_nothing_secret_is_told(world, monkeypatch, name):
    sent = Sent(monkeypatch)
    with capture_logs() as logs:
        answer, _shown = CASES[name](world)
        world.notes.write()
    line = line_of(answer)
    with world.site.db() as db:
        rows = [repr(vars(row)) for row in db.scalars(select(DeniedRequest))]
    commands, id_ = world.commands(), answer.headers["X-Request-Id"]
    explained = commands.run("explain", id_).stdout
    # A form that is sent again has the person's own CSRF token; a short code is none.
    body = "" if answer.content_type == "text/html" else answer.text
    texts = [as_object(line), as_text(line), json.dumps(logs, default=str), *rows, explained, body]
    secrets = {value for value in sent.values if len(value) >= 8}
    assert rows or answer.status_int == 303  # a step that goes on
    assert [(secret, text) for secret in secrets for text in texts if secret in text] == []


@pytest.mark.parametrize(
    "header", ["{}", "{} x", "Bearer\t{}", "x{}", "Token {}", "Basic {}", "Bearer {} {}"]
)
def test_a_token_with_another_scheme_or_none_is_not_told(world, header):
    keys = world.site.client()
    world.site.user()
    token = world.site.login(keys)["access_token"]
    headers = {"Authorization": header.format(token, token)}
    answer = world.site.http.get("/v1/user", headers=headers, status=401)
    world.notes.write()
    with world.site.db() as db:
        told = [repr(row.details) for row in db.scalars(select(DeniedRequest))]
    line = line_of(answer)
    assert told
    for text in (as_object(line), as_text(line), *told):
        assert token[3:12] not in text


def test_the_address_of_who_is_signed_in_is_on_the_page_alone(world):
    answer, _shown = CASES["form.signed_in"](world)
    world.notes.write()
    with world.site.db() as db:
        [told] = [row.details["answer"] for row in db.scalars(select(DeniedRequest))]
    assert "ann@example.com" in answer.text
    assert told == "You are signed in as …."


def test_the_values_that_are_looked_for_are_seen(world, monkeypatch):
    sent = Sent(monkeypatch)
    CASES["token.verifier_wrong"](world)
    CASES["guard.not_valid"](world)
    assert {"V" * 43, "rt_REFRESH-marker"} <= sent.values


HOSTILE = ["\0", "\x1b[31m\x9b2J\x07", "\u202eevil\u2066", "a\r\nb", "\ud800", "x" * 5000]


@pytest.mark.parametrize("name", ["scope", "resource"])
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_hostile_text_is_stored_and_printed_in_escapes(world, tmp_path, text, name):
    keys = world.site.client("personal")
    sent = {**keys.form(grant_type="client_credentials"), name: f"a{text}"}
    answer = world.site.http.post(
        "/v1/oauth/token",
        urlencode(sent, errors="surrogatepass"),
        {"Content-Type": "application/x-www-form-urlencoded"},
        status="*",
    )
    world.notes.write()
    with world.site.db() as db:
        assert db.scalars(select(DeniedRequest)).all()
    commands, id_ = Commands(world.site, tmp_path), answer.headers["X-Request-Id"]
    for options in ((), ("--json",)):
        shown = commands.run("explain", id_, *options).stdout
        assert all(char.isprintable() or char == "\n" for char in shown)
        assert len(shown) < 4000
