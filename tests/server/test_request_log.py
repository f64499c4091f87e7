"""The line for each request: what it says, and what it never does."""

import asyncio
import json

import pytest

from authsite.platform.http.errors import ApiError, FieldError, ValidationFailed
from authsite.server.request_log import (
    RequestLine,
    RequestLog,
    as_object,
    as_text,
    shown_path,
    words_of,
)

AT = 1_790_000_000.25
HASH = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
WORDS = frozenset({"", "v1", "user"})
ID = "5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"


def line(path="/v1/user", status=200, error=None):
    return RequestLine(AT, "GET", path, status, 0.0124, "0123abcd", error)


def test_a_line_is_for_people_in_development_and_an_object_in_production():
    assert as_text(line()) == (
        "2026-09-21T14:13:20.250000Z [info     ] GET /v1/user 200 12 ms        "
        " request_id=0123abcd\n"
    )
    assert json.loads(as_object(line())) == {
        "event": "request",
        "method": "GET",
        "path": "/v1/user",
        "status": 200,
        "ms": 12.4,
        "request_id": "0123abcd",
        "level": "info",
        "timestamp": "2026-09-21T14:13:20.250000Z",
    }


def test_a_denied_request_has_its_code_and_fields_and_no_value():
    error = ValidationFailed(details=[FieldError("taken", "email", "ann@example.com is taken.")])
    text, values = as_text(line(error=error)), json.loads(as_object(line(error=error)))
    assert "error=invalid reason='email: taken'" in text
    assert (values["error"], values["reason"]) == ("invalid", "email: taken")
    assert "ann@example.com" not in text + str(values)


def test_a_bug_is_an_error_and_not_only_information():
    assert "[error    ]" in as_text(line(status=500, error=ApiError()))
    assert json.loads(as_object(line(status=503)))["level"] == "error"


@pytest.mark.control("G02")
@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/v1/user", "/v1/user"),
        ("/v1/user/", "/v1/user/"),
        (f"/v1/email/verify/{ID}/{HASH}", f"/v1/email/verify/{ID}/…"),
        ("/v1/clients/my-app/login", "/v1/clients/my-app/login"),
        ("/v1/clients/geheim/login", "/v1/clients/…/login"),
        (f"/v1/at_{HASH}", "/v1/…"),
        ("/v1/user/hunter2", "/v1/user/…"),
        ("/hunter2", "/…"),
        ("hunter2", "…"),
        ("/a\n[error] forged", "/…"),
        ("/v1/\x1b[2J", "/v1/…"),
        ("/v1/user\n", "/v1/…"),
        (f"/{ID}\n", "/…"),
        ("/\xff", "/…"),
    ],
)
def test_a_path_is_shown_without_what_may_be_a_token(path, shown):
    patterns = ("/v1/user", "v1/clients/{client}/login", "/v1/email/verify/{user_id}/{hash}")
    assert shown_path(words_of(patterns, {"my_app": 1}), path) == shown


def written(*notes):
    """What a log writes for the requests ``notes``, each the arguments of `RequestLog.note`."""
    texts = []

    async def run():
        log = RequestLog(as_text, texts.append, WORDS)
        for each in notes:
            log.note(*each)
        assert texts == []  # the lines of a moment are written together
        while not texts:
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(run(), 20))
    return texts


def test_the_lines_of_a_moment_are_one_write():
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "QUERY_STRING": "token=geheim"}
    [text] = written(*[(environ, 204, [("X-Request-Id", f"id-{n}")], 0.0) for n in range(3)])
    assert [each.split("request_id=")[1] for each in text.splitlines()] == ["id-0", "id-1", "id-2"]
    assert "geheim" not in text


@pytest.mark.control("G02")
def test_a_method_that_nobody_has_is_not_repeated():
    [text] = written(({"REQUEST_METHOD": "GEHEIM", "PATH_INFO": "/v1/user"}, 405, [], 0.0))
    assert "… /v1/user 405" in text
    assert "GEHEIM" not in text


def test_an_error_of_an_attempt_that_was_repeated_is_not_that_of_the_response():
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "authsite.error": ApiError()}
    [text] = written((environ, 200, [], 0.0))
    assert "error=" not in text


def test_a_full_disk_fails_no_request():
    def write(_text):
        raise OSError(28, "No space left on device")

    async def run():
        log = RequestLog(as_text, write, WORDS)
        log.note({"REQUEST_METHOD": "GET", "PATH_INFO": "/"}, 200, [], 0.0)
        log.flush()

    asyncio.run(run())


def reason(answer):
    error = answer.request.environ["authsite.error"]
    return as_text(line(status=answer.status_int, error=error))


def test_a_refused_token_has_its_reason_in_the_log_and_not_in_the_response(site):
    site.user()
    token = site.login(site.client())["access_token"]
    site.logout(token)
    answers = {
        "no bearer token": site.http.get("/v1/user", status=401),
        "malformed, expired": site.me("at_x", status=401),
        "revoked or refreshed": site.me(token, status=401),
    }
    for words, answer in answers.items():
        assert words in reason(answer)
        assert words not in answer.text


def test_a_form_that_is_shown_again_has_its_error_in_the_log(site):
    answer = site.http.post("/password/forgot", {"email": "x"}, status=403)
    assert "error=csrf" in reason(answer)
