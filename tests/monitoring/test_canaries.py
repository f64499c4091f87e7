"""A secret that is sent in any field of any request is found again nowhere, or only hashed.

Each value that is sent is a separate word, a canary. All of them are looked for afterwards in the
log, the metrics, the responses to other requests, and every row of every table.
"""

import itertools
import json
import logging
import re
import secrets

import pytest

from authsite.platform.db.base import Base
from authsite.platform.http.errors import ERROR_OF_REQUEST
from authsite.platform.runtime import clock
from authsite.platform.settings.rate_limits import RATE_LIMITS
from authsite.server.request_log import RequestLine, as_object, shown_path, words_of
from tests.support import databases
from tests.support.endpoints import GOOD, IN_PATHS, views_and_patterns
from tests.support.pages import csrf_of, sign_in
from tests.support.site import WEB, Site, bearer
from tests.support.statements import fail_all

LIMITS = {f"limits.{name}": "100000/hour" for name in RATE_LIMITS}
TOKEN = "nJ7wq2Vx0RkLm9TzYb4cHd6FsGa8PeUi1oXvCtQy"
# What a person says of themselves, and is stored as it is if the request succeeds.
PERSONAL = {"name", "username", "phone", "email"}
EXPLAINED = {"Origin", "resource", "scope"}  # no secrets
# Where a client might send a secret, besides the fields of the endpoint.
MISPLACED = ("password", "access_token", "token", "client_secret", "code", "signature")
COOKIES = ("authsite", "__Host-authsite", "refreshToken", "device", "authsite-csrf", "session")
HEADERS = ("Authorization", "Referer", "X-Request-Id", "X-Forwarded-For", "X-Forwarded-Host",
           "If-None-Match", "Origin", "Proxy-Authorization", "X-Api-Key")  # fmt: skip


class Canaries:
    """Sends requests to a site, and knows which canary was in which of them."""

    def __init__(self, site):
        self.site, self.http = site, site.http
        self.made = {}  # canary -> field, for the next request
        self.sent = {}  # canary -> number of the request, field, status
        self.answers, self.lines = [], []
        self.number = itertools.count()
        routes = site.app.routes_mapper.get_routes(include_static=True)
        self.words = words_of([route.pattern for route in routes], {"web"})
        self.new_person()

    def new_person(self):
        """A user who is logged in with a token and in the browser."""
        self.http.reset()
        email = f"ann{next(self.number)}@example.com"
        self.site.user(email, confirmed=True)
        self.token = self.site.login(self.client, email)["access_token"]
        sign_in(self.site, email)
        self.csrf = csrf_of(self.http.get("/account"))

    @property
    def client(self):
        if not hasattr(self, "_client"):
            self._client = self.site.first_party("web")
        return self._client

    def make(self, field):
        """A new canary for ``field``, in the form that the field has."""
        word = f"canary{secrets.token_hex(8)}"
        self.made[word] = field
        if field in ("email", "username"):
            return f"{word}@example.com" if field == "email" else word
        return f"{word} of rivers" if "password" in field else word

    def send(self, method, path, fields=None, **how):
        """One request, whose canaries are those made since the last one."""
        headers = how.get("headers", bearer(self.token))
        body, content_type = b"", None
        if fields and how.get("json"):
            body, content_type = json.dumps(fields).encode(), "application/json"
        elif fields:
            request = self.http.RequestClass.blank("/", method="POST", POST=fields)
            body, content_type = request.body, "application/x-www-form-urlencoded"
        answer = self.http.request(
            path, method=method, body=body, content_type=content_type or "text/plain",
            headers=headers, status="*", expect_errors=True,
        )  # fmt: skip
        number = len(self.answers)
        self.answers.append(f"{answer.headers.items()}{answer.text}")
        environ = answer.request.environ
        shown = shown_path(self.words, environ["PATH_INFO"])
        error = environ.get(ERROR_OF_REQUEST)
        self.lines.append(
            as_object(RequestLine(0, method, shown, answer.status_int, 0, str(number), error))
        )
        for word, field in self.made.items():
            self.sent[word] = (number, field, answer.status_int)
        self.made = {}
        if answer.status_int < 400 and method not in ("GET", "HEAD"):
            self.new_person()
        return answer


def fields_of(view):
    """The names of the fields that a view reads."""
    model = view.get("body") or view.get("form")
    return [*model.model_fields] if model else []


def send_to(canaries, method, pattern, view):
    """Canaries in every field, header and cookie, in the query and the path of one view."""
    path = re.sub(
        r"\{(\w+)(:[^}]*)?\}", lambda m: IN_PATHS.get(m[1], "x"), f"/{pattern.lstrip('/')}"
    )
    path = path.partition("*")[0]
    names = fields_of(view)
    for name, as_json in itertools.product(names, (False, True)):
        good = {each: GOOD[each] for each in names if each in GOOD}
        fields = {**good, "csrf_token": canaries.csrf, name: canaries.make(name)}
        canaries.send(method, path, fields, json=as_json)
    everything = {name: canaries.make(name) for name in (*names, *MISPLACED)}
    canaries.send(method, path, everything if method != "GET" else None)
    query = "&".join(f"{name}={canaries.make(name)}" for name in MISPLACED)
    canaries.send(method, f"{path}?{query}", headers={})
    canaries.send(method, f"{path.rstrip('/')}/{canaries.make('path')}")
    placeholders = re.sub(r"\{[^}]*\}", lambda _: canaries.make("path"), f"/{pattern.lstrip('/')}")
    canaries.send(method, placeholders.partition("*")[0])
    headers = {name: canaries.make(name) for name in HEADERS}
    headers["Cookie"] = "; ".join(f"{name}={canaries.make(name)}" for name in COOKIES)
    canaries.send(method, path, headers=headers)
    for scheme in ("Bearer", "Basic"):
        canaries.send(method, path, headers={"Authorization": f"{scheme} {canaries.make(scheme)}"})


def rows(site):
    """Every row of every table, as text: table -> texts."""
    with site.database.autocommit.connect() as connection:
        return {
            table.name: "\n".join(repr(tuple(row)) for row in connection.execute(table.select()))
            for table in Base.metadata.sorted_tables
        }


def is_explained(sent):
    """Whether the operator is told what was sent, since it is why the request was denied."""
    _number, field, status = sent
    return field in EXPLAINED and status >= 400


def found_in(text):
    """The canaries in ``text``."""
    return set(re.findall(r"canary[0-9a-f]{16}", text))


@pytest.mark.control("G02")
@pytest.mark.control("T02")
def test_no_canary_is_found_again(fresh_url, caplog, capfd, monkeypatch):
    site = Site(
        databases.migrated(fresh_url), limits="on", metrics_token=TOKEN,
        login_identifiers="email username phone", phone_region="DE", **LIMITS, **WEB,
    )  # fmt: skip
    with caplog.at_level(logging.DEBUG):
        canaries = Canaries(site)
        for view, pattern in views_and_patterns():
            methods = view["request_methods"] or "GET"
            for method in (methods,) if isinstance(methods, str) else methods:
                send_to(canaries, method, pattern, view)
        for path in ("/v1/oauth/token", "/v1/clients/web/login", "/login", "/v1/user"):
            for failure in (broken, away):
                with monkeypatch.context() as patch:
                    failure(patch, site)
                    fields = GOOD | {name: canaries.make(name) for name in ("password", "code")}
                    fields |= {"csrf_token": canaries.csrf}
                    canaries.send("GET" if path == "/v1/user" else "POST", path, fields)
    statuses = {status for _, _, status in canaries.sent.values()}
    assert {200, 201, 202, 204, 303, 400, 401, 403, 404, 405, 422, 500, 503} <= statuses
    assert len(canaries.sent) > 1500
    assert len({field for _, field, _ in canaries.sent.values()}) > 30

    out, err = capfd.readouterr()
    log = "".join((caplog.text, out, err, *canaries.lines))
    assert "internal_error" in log
    assert "storage_failed" in log
    assert [sent for sent in map(canaries.sent.get, found_in(log)) if not is_explained(sent)] == []

    metrics = site.http.get("/metrics", headers=bearer(TOKEN)).text
    assert "authsite_request_seconds_count" in metrics
    assert found_in(metrics) == set()

    for number, answer in enumerate(canaries.answers):
        others = [canaries.sent[word] for word in found_in(answer)]
        assert [each for each in others if each[0] != number] == []
        assert [each for each in others if "password" in each[1] or "secret" in each[1]] == []

    stored = rows(site)
    assert "@example.com" in stored["users"]
    for table, text in stored.items():
        leaked = [canaries.sent[word] for word in found_in(text)]
        personal = [each for each in leaked if each[1] in PERSONAL and each[2] < 400]
        if table == "denied_requests":
            leaked = [each for each in leaked if not is_explained(each)]
        assert [each for each in leaked if each not in personal] == [], table
    site.database.dispose()


def broken(patch, _site):
    """A bug in a view: 500."""

    def bug():
        raise RuntimeError("a bug")

    patch.setattr(clock, "now", bug)


def away(patch, site):
    """The database does not work: 503."""
    fail_all(patch, site.database)
