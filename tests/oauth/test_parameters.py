"""The token endpoint reads strictly (RFC 6749, sections 2.3.1, 3.2 and 4.3.2)."""

import itertools
import string
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.extent import volume
from tests.support.site import PASSWORD

TOKEN = "/v1/oauth/token"
FORM = "application/x-www-form-urlencoded"
LOGIN = {"grant_type": "password", "username": "ann@example.com", "password": PASSWORD}
FIELDS = ("grant_type", "client_id", "client_secret", "scope", "username", "password",
          "refresh_token")  # fmt: skip


@pytest.fixture
def good(site):
    """A form that gets tokens."""
    site.user()
    return site.client().form(**LOGIN)


def post(site, body, status, content_type=FORM, path=TOKEN):
    """A POST of these very bytes."""
    if isinstance(body, str):
        body = body.encode()
    return site.http.post(path, body, content_type=content_type, status=status)


def refused(site, body, status=400, **more):
    answer = post(site, body, status, **more)
    assert answer.json["error"] == "invalid_request"
    assert answer.json["error_description"] == answer.json["message"]
    assert answer.headers["Cache-Control"] == "no-store"
    assert site.families() == []
    return answer.json["message"]


def test_the_good_form_is_good(site, good):
    post(site, urlencode(good), 200)
    post(site, urlencode(good), 200, content_type=f"{FORM}; charset=utf-8")
    post(site, urlencode(good), 200, content_type=f'{FORM};charset="UTF-8"')
    post(site, urlencode(good), 200, content_type="Application/X-WWW-Form-URLencoded ; a=b")
    post(site, urlencode(good | {"unknown": "ignored"}), 200)


@pytest.mark.control("T05")
@pytest.mark.parametrize("name", FIELDS)
def test_a_repeated_parameter_is_refused_even_with_equal_values(site, good, name):
    value = good.get(name, "")
    assert "more than once" in refused(site, urlencode({**good, name: value}) + f"&{name}={value}")


@pytest.mark.control("T05")
def test_an_unknown_parameter_may_not_be_repeated_either(site, good):
    refused(site, urlencode(good) + "&other=1&other=2")


@pytest.mark.control("T05")
@pytest.mark.parametrize("name", ["grant_type[]", "grant_type[0]", "username[]", "password[]"])
def test_the_array_spelling_of_other_frameworks_means_nothing(site, good, name):
    form = {**good, name: good[name.partition("[")[0]]}
    del form[name.partition("[")[0]]
    refused(site, urlencode(form))


@pytest.mark.parametrize("grant_type", [None, ""])
def test_a_missing_or_empty_grant_type_is_refused_and_named(site, good, grant_type):
    form = {**good, "grant_type": grant_type}
    if grant_type is None:
        del form["grant_type"]
    assert "grant_type" in refused(site, urlencode(form))


def test_no_body_at_all_is_refused(site):
    for content_type in (FORM, ""):
        assert "grant_type" in refused(site, b"", content_type=content_type)


LIMITS = (
    ("grant_type", 1024), ("client_id", 1024), ("client_secret", 1024), ("scope", 1024),
    ("username", 320), ("password", 4096), ("refresh_token", 4096),
)  # fmt: skip


@pytest.mark.parametrize(("name", "limit"), LIMITS)
def test_a_value_over_its_limit_is_refused_and_named(site, good, name, limit):
    message = refused(site, urlencode(good | {name: "x" * (limit + 1)}))
    assert name in message
    assert "too long" in message


@pytest.mark.both_databases
@pytest.mark.parametrize(("name", "limit"), LIMITS)
def test_a_value_at_its_limit_is_read(site, good, name, limit):
    answer = site.http.post(TOKEN, good | {name: "x" * limit}, status="*")
    assert answer.status_int in (200, 400, 401)
    assert answer.json.get("error") != "invalid_request"


@pytest.mark.both_databases
@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("bad", ["\0", "a\0b"])
def test_a_nul_is_refused_in_every_parameter(site, good, name, bad):
    assert name in refused(site, urlencode(good | {name: bad}))


@pytest.mark.both_databases
@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("bad", ["%ff", "%c3", "%c0%80", "%ed%a0%80", "%f4%90%80%80"])
def test_what_is_not_utf_8_is_refused_in_every_parameter(site, good, name, bad):
    form = {key: value for key, value in good.items() if key != name}
    refused(site, f"{urlencode(form)}&{name}={bad}")


@pytest.mark.parametrize("body", [b"\xff", b"grant_type=\xe4", b"grant_type=\xc3", b"%ff=x"])
def test_bytes_that_are_not_utf_8_are_refused(site, body):
    refused(site, body)


def test_more_than_a_hundred_fields_are_refused(site, good):
    padding = "".join(f"&a{number}=" for number in range(101))
    assert "100 fields" in refused(site, urlencode(good) + padding)


@pytest.mark.control("T05")
@pytest.mark.parametrize(
    "content_type",
    ["application/json", "text/plain", "multipart/form-data; boundary=x", "application/xml",
     "application/x-www-form-urlencoded-x", "*/*", "x", ""],
)  # fmt: skip
def test_any_other_content_type_is_415(site, good, content_type):
    assert FORM in refused(site, urlencode(good), 415, content_type=content_type)


@pytest.mark.control("T05")
def test_json_is_415_and_reads_nothing(site, good):
    answer = site.http.post_json(TOKEN, good, status=415)
    assert answer.json["error"] == "invalid_request"


@pytest.mark.parametrize("charset", ["iso-8859-1", "utf-16", "utf-7", "rot13", "x", "idna"])
def test_another_charset_than_utf_8_is_415(site, good, charset):
    message = refused(site, urlencode(good), 415, content_type=f"{FORM}; charset={charset}")
    assert "UTF-8" in message


@pytest.mark.control("T05")
@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"])
def test_any_other_method_is_405_with_the_allowed_ones(site, good, method):
    answer = site.http.request(f"{TOKEN}?{urlencode(good)}", method=method, status=405)
    assert answer.headers["Allow"] == "POST"
    assert answer.headers["Cache-Control"] == "no-store"
    if method != "HEAD":
        assert answer.json["error"] == "method_not_allowed"
    assert site.families() == []


@pytest.mark.control("T05")
@pytest.mark.parametrize("override", ["X-HTTP-Method-Override", "X-Method-Override"])
def test_a_method_override_does_nothing(site, good, override):
    site.http.get(f"{TOKEN}?_method=POST", good, headers={override: "POST"}, status=405)
    assert site.families() == []


@pytest.mark.control("T05")
def test_parameters_in_the_address_are_refused_whether_alone_or_beside_a_body(site, good):
    refused(site, b"", path=f"{TOKEN}?{urlencode(good)}")
    refused(site, urlencode(good), path=f"{TOKEN}?{urlencode(good)}")
    for query in ("client_secret=x", "a", "=", "%ff", "%", "grant_type=password"):
        message = refused(site, urlencode(good), path=f"{TOKEN}?{query}")
        assert "in the query" in message


@pytest.mark.parametrize("size", [64 * 1024 + 1, 1024 * 1024])
def test_a_body_over_64_kib_is_413(site, good, size):
    body = urlencode(good) + "&pad="
    refused(site, body + "x" * (size - len(body)), 413)


def test_a_body_of_64_kib_is_read(site, good):
    body = urlencode(good) + "&pad="
    post(site, body + "x" * (64 * 1024 - len(body)), 200)


class Pouring:
    """A body without end that counts what is taken from it."""

    taken = 0

    def read(self, size=-1):
        assert size >= 0
        self.taken += size
        return b"x" * size

    def readline(self, size=-1):
        return self.read(size)

    def readlines(self, hint=-1):
        return [self.read(hint)]

    def __iter__(self):
        return iter(lambda: self.read(1024), b"")


@pytest.mark.control("S13")
def test_a_body_with_a_huge_content_length_is_rejected_unread(site):
    body = Pouring()
    request = {"wsgi.input": body, "CONTENT_LENGTH": str(10**8), "CONTENT_TYPE": FORM}
    answer = site.http.request(TOKEN, method="POST", environ=request, status=413)
    assert answer.json["error"] == "invalid_request"
    assert body.taken == 0


@pytest.mark.parametrize(
    "path", ["/v1/oauth/", "/v1/oauth/tokens", "/v1/oauth/token/", "/v1/oauth/%00"]
)
def test_an_unknown_path_beside_the_token_endpoint_is_404_with_an_oauth_body(site, good, path):
    answer = site.http.post(path, good, status=404)
    assert set(answer.json) == {"error", "error_description", "message"}
    assert answer.json["error"] == "not_found"


@pytest.mark.parametrize("path", ["/v1/oauth/%ff", "/v1/clients/%ff/login", "/v1/oauth/%c3%28"])
def test_a_path_that_is_not_utf_8_is_400_with_an_oauth_body(site, path):
    answer = site.http.request(path, method="POST", status=400)
    assert answer.json["error"] == "invalid_request"


texts = st.one_of(
    st.text(max_size=30),
    st.text(alphabet=string.printable, max_size=30),
    st.sampled_from((*LOGIN.values(), "client_credentials", "refresh_token", "at_", "rt_")),
)


@settings(max_examples=volume(50, 500), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.one_of(st.sampled_from(FIELDS), texts), texts), max_size=9))
def test_no_form_whatsoever_makes_a_500(site, pairs):
    answer = site.http.post(TOKEN, urlencode(pairs, errors="surrogatepass"), status="*")
    assert answer.status_int in (400, 401)
    assert set(answer.json) == {"error", "error_description", "message"}


@settings(max_examples=volume(50, 500), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=300))
def test_no_bytes_whatsoever_make_a_500(site, body):
    assert post(site, body, "*").status_int in (400, 401)


def test_every_order_of_the_parameters_is_the_same(site, good):
    for order in itertools.islice(itertools.permutations(good.items()), 0, 120, 17):
        post(site, urlencode(order), 200)
