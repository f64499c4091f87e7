"""Bad input at every endpoint that takes a body: a clear refusal, nothing changed, never 500."""

import json
from tempfile import TemporaryDirectory

import pytest
from webtest import TestApp

from authsite import main
from authsite.audit.models import AuditEvent
from authsite.oauth.models import Family
from authsite.users.models import User
from tests.support.site import SECRET, WEB

FORM = "application/x-www-form-urlencoded"
OAUTH_PATHS = ("/v1/oauth/", "/v1/clients/")


def endpoints():
    """(path, body model) of every view that states a body: what is added is tested too."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/never-opened.sqlite"
        app = main({}, **{"authsite.secret": SECRET, "authsite.database-url": url})
    views = [item["introspectable"] for item in app.registry.introspector.get_category("views")]
    routes = {
        item["introspectable"]["name"]: item["introspectable"]["pattern"]
        for item in app.registry.introspector.get_category("routes")
    }
    found = {
        routes[view["route_name"]].replace("{client}", "web"): view["body"]
        for view in views
        if view.get("body")
    }
    return sorted(found.items())


ENDPOINTS = endpoints()
FIELDS = [
    pytest.param(path, model, field, id=f"{path}-{field}")
    for path, model in ENDPOINTS
    for field in model.model_fields
]
JSON_FIELDS = [item for item in FIELDS if not item.values[1].form_only]


@pytest.fixture
def site(site_with):
    """A site with the web client and its user Ann."""
    made = site_with(**WEB)
    made.first_party("web")
    made.user()
    return made


@pytest.fixture
def unchanged(site):
    """Nothing in the database is another after the test."""
    before = counts(site)
    yield
    assert counts(site) == before


def counts(site):
    with site.db() as db:
        return [db.query(model).count() for model in (User, Family, AuditEvent)]


def good(path):
    """A body that the endpoint takes as it is, or nearly so."""
    return {
        "grant_type": "password",
        "client_id": WEB["clients.web.id"],
        "client_secret": WEB["clients.web.secret"],
        "username": "ann@example.com",
        "password": "correct horse battery",
        "email": "bo@example.com",
    } | ({} if "register" in path else {"email": None})


def assert_refused(answer, path, statuses=(400, 401, 422)):
    assert answer.status_int in statuses, answer
    oauth = path.startswith(OAUTH_PATHS)
    assert set(answer.json) >= ({"error", "error_description"} if oauth else {"errors"})
    assert "message" in answer.json
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.control("U07")
@pytest.mark.control("T09")
@pytest.mark.parametrize(
    "value", [0, 1, -1.5, True, False, [], ["x"], {}, {"a": "b"}, [["x"]], 10**400]
)
@pytest.mark.parametrize(("path", "model", "field"), JSON_FIELDS)
def test_only_a_string_is_a_value(site, unchanged, path, model, field, value):
    answer = site.http.post_json(path, good(path) | {field: value}, status="*")
    assert_refused(answer, path, (400,) if path.startswith(OAUTH_PATHS) else (422,))
    if "errors" in answer.json:
        assert (field, "invalid") in [(e["field"], e["code"]) for e in answer.json["errors"]]
    else:
        assert field in answer.json["message"]


@pytest.mark.control("U07")
@pytest.mark.parametrize("value", ["a\0b", "\0", "\ud800", "x\udfff"])
@pytest.mark.parametrize(("path", "model", "field"), JSON_FIELDS)
def test_what_is_not_text_is_refused(site, unchanged, path, model, field, value):
    answer = site.http.post_json(path, good(path) | {field: value}, status="*")
    assert_refused(answer, path, (400, 422))


@pytest.mark.control("S13")
@pytest.mark.parametrize(("path", "model", "field"), FIELDS)
def test_an_over_long_value_is_refused(site, unchanged, path, model, field):
    answer = site.http.post(path, good(path) | {field: "x" * 5000}, status="*")
    assert_refused(answer, path, (400, 422))
    answer = site.http.post(path, good(path) | {field: "\N{EURO SIGN}" * 5000}, status="*")
    assert_refused(answer, path, (400, 422))


@pytest.mark.control("U07")
@pytest.mark.parametrize("raw", ["%00", "a%00b", "%FF", "%C3%28", "%ED%A0%80", "%F5%80%80%80"])
@pytest.mark.parametrize(("path", "model", "field"), FIELDS)
def test_bytes_that_are_not_text_are_refused_in_a_form(site, unchanged, path, model, field, raw):
    answer = site.http.post(path, f"{field}={raw}", status="*")
    assert_refused(answer, path, (400, 422))


@pytest.mark.parametrize(("path", "model", "field"), FIELDS)
def test_a_repeated_parameter_is_refused(site, unchanged, path, model, field):
    body = "&".join([*(f"{k}={v}" for k, v in good(path).items() if v), f"{field}=1", f"{field}=1"])
    answer = site.http.post(path, body, status=400)
    assert_refused(answer, path, (400,))
    if not model.form_only:
        doubled = f'{{"{field}": "a", "{field}": "a"}}'
        answer = site.http.post(path, doubled, content_type="application/json", status=400)
        assert_refused(answer, path, (400,))


@pytest.mark.parametrize(("path", "model", "field"), JSON_FIELDS)
def test_null_counts_as_absent(site, path, model, field):
    without = {name: value for name, value in good(path).items() if value and name != field}
    first = site.http.post_json(path, without, status="*")
    with site.db() as db:
        db.query(User).filter(User.email == "bo@example.com").delete()
    second = site.http.post_json(path, without | {field: None}, status="*")
    assert first.status == second.status
    assert set(first.json) == set(second.json)


@pytest.mark.control("U08")
@pytest.mark.parametrize(("path", "model"), ENDPOINTS)
def test_unknown_keys_are_ignored_whatever_they_hold(site, path, model):
    extras = {"is_admin": True, "id": 7, "roles": ["x"], "__class__": {}, "": None, "é": "\0"}
    if model.form_only:
        extras = {"is_admin": "1", "id": "7", "": "x"}
        answer = site.http.post(path, {k: v for k, v in (good(path) | extras).items() if v})
    else:
        body = good(path) | extras
        answer = site.http.post_json(path, body, status="*")
    assert answer.status_int in (200, 201, 400) if "refresh" in path else (200, 201)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"x"',
        b"1",
        b"{",
        b"{}x",
        b'{"email": NaN}',
        b'{"email": Infinity}',
        b'{"email": "\xff"}',
        b'{"email": "a\nb"}',
        b"\xef\xbb\xbf{}",
        '{"email": "a"}'.encode("utf-16"),
        b'{"n": ' + b"9" * 5000 + b"}",
        b'{"deep": ' + b"[" * 21 + b"]" * 21 + b"}",
        b"[" * 30000,
        b'{"a":' * 10000,
    ],
)
@pytest.mark.parametrize(("path", "model"), ENDPOINTS)
def test_what_is_not_a_flat_json_object_is_refused(site, unchanged, path, model, body):
    answer = site.http.post(path, body, content_type="application/json", status="*")
    assert_refused(answer, path, (415,) if model.form_only else (400,))


@pytest.mark.control("S12")
@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/xml",
        "application/x-www-form-urlencoded; charset=latin-1",
        "application/x-www-form-urlencoded; charset=utf-16",
        "application/json; charset=utf-7",
        "nonsense",
        "application/x-www-form-urlencoded, application/json",
    ],
)
@pytest.mark.parametrize(("path", "model"), ENDPOINTS)
def test_another_content_type_is_415(site, unchanged, path, model, content_type):
    answer = site.http.post(path, b"a=b", content_type=content_type, status=415)
    assert_refused(answer, path, (415,))
    if path.startswith(OAUTH_PATHS):
        assert answer.json["error"] == "invalid_request"


@pytest.mark.control("U07")
@pytest.mark.parametrize(("path", "model", "field"), FIELDS)
def test_an_uploaded_file_is_no_value(site, unchanged, path, model, field):
    files = [(field, "name.txt", b"content")]
    assert_refused(site.http.post(path, upload_files=files, status="*"), path, (415,))


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", '"utf-8"', "utf8"])
def test_utf_8_may_be_said(site, charset):
    fields = {"email": "bo@example.com", "password": "purple wolf 77 tea"}
    content_type = f"application/json; charset={charset}"
    body = json.dumps(fields)
    site.http.post("/v1/register", body, content_type=content_type, status=201)


@pytest.mark.control("S13")
@pytest.mark.parametrize(("path", "model"), ENDPOINTS)
def test_a_body_over_64_kib_is_413(site, unchanged, path, model):
    for body in (b"a=" + b"x" * 64 * 1024, b"a=" + b"x" * 10_000_000):
        answer = site.http.post(path, body, content_type=FORM, status=413)
        assert_refused(answer, path, (413,))


@pytest.mark.control("S13")
def test_the_size_is_counted_and_not_only_declared(site, unchanged):
    # A chunked body has no Content-Length.
    for length in (None, "0", "5", "-1", "x"):
        environ = {"wsgi.input_terminated": True, "CONTENT_LENGTH": length}
        app = TestApp(without_length(site.app, environ))
        answer = app.post("/v1/register", b"a=" + b"x" * 70_000, content_type=FORM, status="*")
        assert answer.status_int in (400, 413, 422), (length, answer)


def without_length(app, environ):
    """``app`` behind a server that changes the ``environ`` so."""

    def changed(given, start_response):
        given.update({key: value for key, value in environ.items() if value is not None})
        if environ["CONTENT_LENGTH"] is None:
            given.pop("CONTENT_LENGTH", None)
        return app(given, start_response)

    return changed


@pytest.mark.control("S13")
@pytest.mark.parametrize(("path", "model"), ENDPOINTS)
def test_more_than_100_fields_are_refused(site, unchanged, path, model):
    body = "&".join(f"f{number}=1" for number in range(101))
    assert_refused(site.http.post(path, body, status=400), path)


@pytest.mark.control("S13")
def test_json_may_be_20_levels_deep_and_no_deeper(site):
    def register(levels):
        nested = "x"
        for _ in range(levels - 1):
            nested = [nested]
        body = {"email": "bo@example.com", "password": "purple wolf 77 tea", "more": nested}
        return site.http.post_json("/v1/register", body, status="*").status_int

    assert [register(20), register(21)] == [201, 400]
