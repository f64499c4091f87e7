"""Documents that give no client: each has its page, and a reason for `authsite explain`."""

import time

import pytest

from authsite.oauth.models import Client
from authsite.platform.audit.models import AuditEvent
from authsite.platform.http.outbound import UNTRUSTED
from tests.documents.conftest import ALL
from tests.support.authorizing import Application, authorize, code_for, sign_in, target_of
from tests.support.documents import CALLBACK, HOST
from tests.support.outbound import PUBLIC

METHODS = "token_endpoint_auth_methods_supported"


@pytest.fixture
def signed_in(issuer, ann):
    sign_in(issuer)
    return issuer


def refused(site, app, status=400, **changed):
    """The page, and the recorded reason with its details."""
    answer = authorize(site, app, **changed)
    assert (answer.status_int, target_of(answer)) == (status, None)
    assert answer.html.find("main").find("a")["href"] != app.redirect_uri
    with site.db() as db:
        assert db.query(Client).count() == 0
        row = db.query(AuditEvent).order_by(AuditEvent.id.desc()).first()
    assert row.event == "authorization.refused"
    assert row.request_id in answer.text
    return row.details["reason"], row.details.get("why", "")


def at(url):
    return Application(url, None, CALLBACK, "Notes")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://client.example/c.json", "https"),
        ("ftp://client.example/c.json", "https"),
        ("https://client.example", "path"),
        ("https://client.example?x=/", "path"),
        ("https://Client.example/c.json", "lower case"),
        ("https://client.example/c.json#x", "fragment"),
        ("https://ann:x@client.example/c.json", "user"),
        ("https://client.example/a/../c.json", "segments"),
        ("https://client.example/a/%2e%2E/c.json", "segments"),
        ("https://client.example/./c.json", "segments"),
        ("https://client.example/c json", "%XX"),
        ("https://client.example/\\c", "%XX"),
        ("https://client.example:0/c", "port"),
        ("https:///c", "host"),
        ("https://client.example/" + "x" * 1024, "1024"),
    ],
)
def test_a_url_that_cannot_be_one_of_a_client(issuer, url, why):
    reason, found = refused(issuer, at(url))
    assert reason == "document_url"
    assert why in found


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["169.254.169.254"],
        ["10.0.0.1"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        [PUBLIC, "127.0.0.1"],
    ],
    ids=",".join,
)
def test_a_name_of_an_address_that_is_not_public_is_not_asked(signed_in, there, addresses):
    there.resolves[HOST] = addresses
    reason, why = refused(signed_in, there.application)
    assert (reason, there.fetched) == ("document_unreachable", 0)
    assert "not public" in why


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"],
)
def test_nor_is_an_address_in_any_notation(signed_in, there, host):
    there.resolves[host] = ["127.0.0.1"]
    reason, _why = refused(signed_in, at(f"https://{host}:{there.server.port}/c.json"))
    assert reason in ("document_unreachable", "document_url")
    assert there.server.connections == 0


def test_the_name_is_resolved_once(signed_in, there):
    """A name that leads elsewhere the second time (rebinding) has no second time."""
    assert authorize(signed_in, there.application).status_int == 200
    assert there.resolves["asked"].count(HOST) == 1


def test_a_redirect_is_not_followed(signed_in, there):
    there.status, there.headers = 302, {"Location": "https://169.254.169.254/latest/meta-data"}
    reason, why = refused(signed_in, there.application)
    assert (reason, there.fetched) == ("document_unreachable", 1)
    assert "redirect" in why
    assert "169.254.169.254" not in there.resolves["asked"]


def test_a_large_answer_is_not_read_to_its_end(signed_in, there):
    there.document["x"] = "x" * 5000
    there.headers["Content-Length"] = "10000000000"
    reason, why = refused(signed_in, there.application)
    assert reason == "document_unreachable"
    assert "more than 5120 bytes" in why or "valid answer" in why
    there.headers.pop("Content-Length")
    there.document["x"] = "x" * 5200
    assert "more than 5120 bytes" in refused(signed_in, there.application)[1]
    there.document["x"] = "x" * 4500
    assert authorize(signed_in, there.application).status_int == 200


def test_a_slow_answer_ends_after_five_seconds(signed_in, there):
    def trickle(_request):
        time.sleep(8)
        return 200, {}, b""

    there.server.respond = trickle
    began = time.monotonic()
    reason, why = refused(signed_in, there.application)
    assert time.monotonic() - began < 7
    assert reason == "document_unreachable"
    assert "in time" in why


def test_with_no_slot_free_the_page_says_to_try_again(signed_in, there):
    slots = signed_in.app.registry["authsite"].outbound_slots
    with slots.taken(UNTRUSTED), slots.taken(UNTRUSTED):
        assert refused(signed_in, there.application, 503)[0] == "document_busy"
    assert authorize(signed_in, there.application).status_int == 200


@pytest.mark.parametrize("status", [201, 204, 404, 500])
def test_another_status_is_none(signed_in, there, status):
    there.status = status
    assert refused(signed_in, there.application)[0] == "document_unreachable"


@pytest.mark.parametrize("kind", ["text/html", "text/plain; charset=utf-8", "", "application/xml"])
def test_another_content_type_is_none(signed_in, there, kind):
    there.headers = {"Content-Type": kind}
    reason, why = refused(signed_in, there.application)
    assert reason == "document_invalid"
    assert "Content-Type" in why


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{", b"\xff{}", b"null", b"[" * 5000, b'{"client_id": 1}']
)
def test_what_is_no_document(signed_in, there, raw):
    there.raw = raw
    assert refused(signed_in, there.application)[0] == "document_invalid"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"client_id": "https://client.example/other"}, "client_id"),
        ({"client_id": None}, "client_id"),
        ({"client_secret": "x"}, "client_secret"),
        ({"token_endpoint_auth_method": "client_secret_basic"}, "none"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "none"),
        ({"token_endpoint_auth_method": None, METHODS: ["private_key_jwt"]}, "none"),
        ({"client_uri": "http://client.example/"}, "client_uri"),
        ({"policy_uri": "javascript:alert(1)"}, "policy_uri"),
        ({"tos_uri": "http://localhost/"}, "tos_uri"),
        ({"redirect_uris": []}, "redirect_uris"),
        ({"redirect_uris": "https://client.example/callback"}, "redirect_uris"),
        ({"redirect_uris": ["http://client.example/callback"]}, "https"),
        ({"redirect_uris": [f"https://client.example/{n}" for n in range(101)]}, "100"),
    ],
    ids=str,
)
def test_what_describes_no_client(signed_in, there, changed, why):
    app = there.application
    there.document |= changed
    reason, found = refused(signed_in, app)
    assert reason == "document_invalid"
    assert why in found


@pytest.mark.parametrize(
    "changed",
    [
        {"token_endpoint_auth_method": None},
        {"token_endpoint_auth_method": "private_key_jwt", METHODS: ["private_key_jwt", "none"]},
        {"grant_types": ["authorization_code", "urn:x:jwt-bearer"], "response_types": ["code"]},
        {"logo_uri": "http://client.example/logo.png", "jwks_uri": 7, "contacts": [1]},
        {"redirect_uris": [CALLBACK, "ftp://x/y", 7, "cursor://callback"]},
        {"client_name": 7},
        {"client_name": "x" * 500},
        {"client_name": "two\nlines \u202e"},
        {"scope": ["x"]},
    ],
    ids=str,
)
def test_what_we_lack_is_ignored(signed_in, there, changed):
    """Real documents name grants and ways to authenticate that are not here."""
    there.document |= changed
    answer = authorize(signed_in, there.application)
    assert answer.status_int == 200
    with signed_in.db() as db:
        name = db.query(Client).one().name
    assert name.isprintable()
    assert 0 < len(name) <= 100


def test_the_name_of_the_site_is_not_shown_as_that_of_an_application(signed_in, there):
    there.document["client_name"] = "ＡuthSite"
    answer = authorize(signed_in, there.application)
    with signed_in.db() as db:
        assert db.query(Client).one().name.startswith(HOST)
    assert "Allow authsite" not in answer.text


def test_documents_are_fetched_within_a_limit(site_with, there):
    site = site_with(**ALL, **{"limits": "on", "limits.document-address": "2/hour"})
    site.user(confirmed=True)
    sign_in(site)
    there.status = 404
    for _ in range(2):
        assert authorize(site, there.application).status_int == 400
    assert authorize(site, there.application).status_int == 429
    assert there.fetched == 2


def test_a_refused_document_is_fetched_again_when_it_is_right(signed_in, there):
    there.status = 500
    refused(signed_in, there.application)
    there.status = 200
    assert code_for(signed_in, there.application)
