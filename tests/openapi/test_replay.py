"""Each operation, called with each example of the document, answers as the document states.

The values of an example are sent as they are, but for those that only a server can issue, such as
tokens; `issued` has them. Each call starts on an empty database.
"""

import json
from contextlib import nullcontext
from urllib.parse import urlencode

import pytest

from authsite.platform.settings.rate_limits import RATE_LIMITS
from tests.support import databases
from tests.support.described import Described
from tests.support.site import WEB, bearer
from tests.support.walk_mfa import setting

from .issued import NEEDS, PAGES, PASSWORD, VALUES, Issued

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
UNKNOWN = "5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"
# Parameters that belong to nothing, and bodies that no operation accepts.
ANY = {
    "client": "web",
    "client_id": UNKNOWN,
    "id": UNKNOWN,
    "user_id": UNKNOWN,
    "hash": "0" * 64,
}
QUERY = {"expires": "1", "signature": "0" * 64}
BODIES = [
    (JSON, b"{}"),
    (JSON, b"["),
    (JSON, b'{"current_password": "", "email": 1, "token": "x", "password": "x"}'),
    (FORM, b"a=1&a=2"),
    (FORM, b"x" * 70_000),
    ("text/xml", b"<a/>"),
]
LIMITS = {f"limits_{name.replace('-', '_')}": "1/hour" for name in RATE_LIMITS}


@pytest.fixture(params=["A", "B"])
def site(request, site_with):
    return site_with(variant=request.param, **PAGES[request.param], **WEB)


def calls(described):
    """``(method, path, operation, media type, example)`` of every example; None without a body."""
    for method, path, operation in described.operations():
        content = operation.get("requestBody", {}).get("content", {None: {}})
        for kind, media in content.items():
            examples = media.get("examples", {"": {"value": None}})
            for example in examples.values():
                yield method, path, operation, kind, example["value"]


def replay(site, method, path, operation, kind, example):
    """Send the example as its operation describes it."""
    databases.empty(site.database)
    site.http.reset()
    site.mails()
    issued = Issued(site)
    with setting(site, **NEEDS.get(operation["operationId"], {})):
        return send_example(issued, method, path, operation, kind, example)


def send_example(issued, method, path, operation, kind, example):
    values = VALUES.get(operation["operationId"], lambda issued, example: {})(issued, example)
    parameters = operation.get("parameters", ())
    named = {each["name"] for each in parameters}
    query = {
        each["name"]: values[each["name"]]
        for each in parameters
        if each["in"] == "query" and each["name"] in values
    }
    headers = issued.headers if is_guarded(operation) else issued.of_browser
    body = None
    if example is not None:
        body = example | {name: value for name, value in values.items() if name not in named}
    return send(issued.http, method, path.format_map(values), query, headers, kind, body)


def is_guarded(operation):
    return {"bearer": []} in operation["security"]


def send(http, method, path, query, headers, kind, body):
    target = f"{path}?{urlencode(query)}" if query else path
    if body is None:
        return http.request(target, method=method, headers=headers, status="*")
    text = json.dumps(body) if kind == JSON else urlencode(in_form(body))
    return http.request(
        target, method=method, headers=headers, body=text.encode(), content_type=kind, status="*"
    )


def in_form(body):
    """A boolean is ``true`` or ``false`` in a form, as in JSON."""
    return {
        name: json.dumps(value) if isinstance(value, bool) else value
        for name, value in body.items()
    }


def requests(described, issued):
    """``(method, path, arguments)`` of requests that most operations refuse."""
    machine = issued.site.client("personal", name="machine")
    token = issued.site.token(machine, grant_type="client_credentials").json["access_token"]
    body = {"name": "backup", "current_password": PASSWORD}
    personal = issued.http.post_json("/v1/user/tokens", body, headers=issued.headers).json["token"]
    for method, path, operation in described.operations():
        yield method, path, {"headers": {"Host": "not a host"}}
        yield method, path.replace("{client}", "unknown"), {"headers": issued.headers}
        if is_guarded(operation):
            for headers in ({}, bearer("at_x"), bearer(token), bearer(personal)):
                if "logout" not in path:
                    yield method, path, {"headers": headers}
        if "requestBody" in operation:
            for kind, text in BODIES:
                sent = {"body": text, "content_type": kind, "headers": issued.headers}
                yield method, path, sent


@pytest.mark.parametrize("reachable", [True, False], ids=["", "without the database"])
def test_refusals_are_as_the_document_states(site, reachable):
    described, issued = Described(site), Issued(site)
    asked = list(requests(described, issued))
    statuses = set()
    with nullcontext() if reachable else databases.away(site.database):
        for method, path, arguments in asked:
            target = f"{path.format_map(ANY)}?{urlencode(QUERY)}" if "verify" in path else path
            answer = site.http.request(
                target.format_map(ANY), method=method, status="*", **arguments
            )
            described.fits(answer, method, path.replace("/unknown/", "/{client}/"))
            statuses.add(answer.status_int)
    assert statuses >= ({400, 401, 403, 404, 413, 415, 422} if reachable else {400, 503})


def test_every_example_of_a_request_is_answered_as_the_document_states(site):
    described, wrong, seen = Described(site), [], set()
    for method, path, operation, kind, example in calls(described):
        answer = replay(site, method, path, operation, kind, example)
        seen.add(operation["operationId"])
        if answer.status_int >= 300:
            wrong.append((method, path, kind, example, answer.status_int, answer.text))
        described.fits(answer, method, path)
    assert wrong == []
    assert seen >= VALUES.keys()


def test_a_redirect_and_an_unchanged_document_are_as_the_document_states(site):
    described, http = Described(site), site.http
    described.fits(http.get("/v1/guard/web?redirect=1", status=302), "GET", "/v1/guard/web")
    for path in ("/v1/openapi.json", "/.well-known/oauth-authorization-server"):
        tag = http.get(path).headers["ETag"]
        for headers in ({"If-None-Match": tag}, {"Accept-Encoding": "gzip"}):
            described.fits(http.get(path, headers=headers), "GET", path)


def test_every_limit_is_as_the_document_states(site_with, frozen):
    """A wrong password, a wrong secret and a wrong token are what some limits count."""
    site = site_with(limits="on", **LIMITS, **PAGES["A"], **WEB)
    described, missing = Described(site), []
    wrong = {"password": "wrong", "current_password": "wrong", "token": "x", "client_secret": "x"}
    for method, path, operation, kind, example in calls(described):
        if kind != FORM:
            continue
        databases.empty(site.database)
        issued = Issued(site)
        headers = issued.headers if is_guarded(operation) else {}
        body = {**example, **({} if is_guarded(operation) else issued.keys.form())}
        body |= {name: wrong[name] for name in wrong.keys() & body.keys()}
        if operation["operationId"] == "post_proxy_mfa":
            body |= {**issued.second_step(WEB["clients.web.id"]), "code": "000000"}
        for _ in range(3):
            answer = send(site.http, method, path.format_map(ANY), {}, headers, kind, body)
            described.fits(answer, method, path)
        if (answer.status_int == 429) != ("429" in operation["responses"]):
            missing.append((method, path, example, answer.status_int, answer.text))
    assert missing == []
