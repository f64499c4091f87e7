"""What a provider answers to our requests: discovery, keys, token answers and profiles."""

import threading
import time

import pytest

from authsite.sign_in.methods.provider.documents import is_endpoint
from tests.support.fake_provider import CLIENT_ID, CLIENT_SECRET, key
from tests.support.tiny_server import Held


def answering(status=200, body=b"{}", **headers):
    return lambda _request: (status, headers, body)


def last(fake, path):
    """The last request to a path."""
    return [each for each in fake.server.requests if each.path == path][-1]


def test_discovery_and_keys_are_kept_for_an_hour(trips, frozen):
    fake = trips.to()
    documents = ("/.well-known/openid-configuration", "/keys")
    for seconds, fetched in ((0, 1), (3599, 1), (1, 2)):
        frozen.advance(seconds)
        assert trips.reason(fake) is None
        assert [fake.paths.count(each) for each in documents] == [fetched, fetched]


def test_a_new_key_is_fetched_once_a_minute_at_most(trips, frozen):
    fake = trips.to()
    assert trips.reason(fake) is None
    fake.keys = [key("k1"), key("k2")]
    fake.signing_key = key("k2")
    assert trips.reason(fake) is None
    assert fake.paths.count("/keys") == 2
    fake.header = {"kid": "of nothing"}
    for seconds, fetched in ((59, 2), (1, 3), (0, 3)):
        frozen.advance(seconds)
        assert trips.reason(fake) == "key"
        assert fake.paths.count("/keys") == fetched


def test_a_failed_fetch_is_not_kept(trips):
    fake = trips.to()
    fake.faults["/keys"] = answering(500)
    assert trips.reason(fake) == "unreachable"
    fake.faults.clear()
    assert trips.reason(fake) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": "https://attacker.example"},
        {"issuer": None},
        {"token_endpoint": None},
        {"token_endpoint": "http://idp.example.org/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "http://idp.example.org/authorize"},
        {"userinfo_endpoint": 7},
        {"jwks_uri": "file:///etc/passwd"},
    ],
)
def test_a_discovery_document_of_another_issuer_or_without_https_is_refused(trips, changes):
    fake = trips.to()
    fake.discovery = changes
    answer = trips.start(fake)
    assert (answer["reason"], answer["status"]) == ("discovery", 503)
    assert "Set-Cookie" not in trips.http.get(f"/start/{fake.name}", status=503).headers


@pytest.mark.parametrize(
    ("issuer", "url", "usable"),
    [
        ("https://idp.example.org", "https://api.example.org/token", True),
        ("https://idp.example.org", "http://idp.example.org/token", False),
        ("https://idp.example.org", "http://127.0.0.1:9000/token", False),
        ("https://idp.example.org", "https://[::1]/token", False),
        ("https://idp.example.org", "", False),
        ("http://localhost:9000", "http://127.0.0.1:9000/token", True),
        ("http://localhost:9000", "https://localhost:9443/token", True),
    ],
)
def test_only_a_provider_on_this_machine_announces_endpoints_here(issuer, url, usable):
    assert is_endpoint(issuer, url) == usable


def test_the_issuer_is_compared_character_by_character(trips):
    fake = trips.to()
    fake.discovery = {"issuer": f"{fake.url}/"}
    assert trips.start(fake)["reason"] == "discovery"
    trips.set(fake, issuer=f"{fake.url}/")
    fake.claims["iss"] = f"{fake.url}/"
    assert trips.reason(fake) is None


def test_directories_of_microsoft_announce_a_template(trips):
    fake = trips.to("microsoft")
    fake.discovery = {"issuer": fake.issuer}
    assert trips.start(fake)["reason"] == "discovery"


@pytest.mark.parametrize(
    "answer",
    [
        answering(302, Location="/elsewhere"),
        answering(404),
        answering(500),
        answering(body=b"[]"),
        answering(body=b"<html>"),
        answering(body=b"\xff"),
        answering(body=b"[" * 60000),
        answering(body=b"{}" + b" " * 256 * 1024),
        answering(body=b" " * 2**20),
    ],
)
@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/keys", "/token"])
def test_an_answer_that_is_not_usable_is_refused(trips, path, answer):
    fake = trips.to()
    fake.faults[path] = answer
    fake.faults["/elsewhere"] = fake.respond
    found = trips.start(fake)
    if isinstance(found, str):
        found = trips.back(fake.authorize(found))
    assert (found["reason"], found["status"]) == ("unreachable", 503)
    assert "/elsewhere" not in fake.paths


@pytest.mark.parametrize(
    ("path", "body", "reason"),
    [
        ("/token", 64 * 1024, "access_token"),
        ("/token", 64 * 1024 + 1, "unreachable"),
        ("/userinfo", 64 * 1024, "profile_subject"),
        ("/userinfo", 64 * 1024 + 1, "unreachable"),
        ("/keys", 256 * 1024, "key"),
        ("/keys", 256 * 1024 + 1, "unreachable"),
    ],
)
def test_each_answer_may_have_so_much(trips, path, body, reason):
    fake = trips.to()
    fake.faults[path] = answering(body=b"{}".ljust(body))
    assert trips.reason(fake) == reason


def test_a_provider_that_is_down_is_refused(trips):
    fake = trips.to()
    url = trips.start(fake)
    fake.server.shutdown()
    fake.server.server_close()
    answer = trips.back(fake.authorize(url))
    assert (answer["reason"], answer["status"]) == ("unreachable", 503)


@pytest.mark.slow
def test_silence_of_the_provider_ends_after_five_seconds(trips):
    fake = trips.to()
    url = trips.start(fake)
    fake.faults["/token"] = held = Held(fake.respond)
    began = time.monotonic()
    assert trips.back(fake.authorize(url))["reason"] == "unreachable"
    assert 5 <= time.monotonic() - began < 6
    held.release()


@pytest.mark.slow
def test_a_return_ends_after_ten_seconds_in_all(trips):
    fake = trips.to()
    url = trips.start(fake)
    fake.faults["/token"] = delayed(fake.respond, 4)
    fake.faults["/keys"] = delayed(fake.respond, 4)
    fake.faults["/userinfo"] = held = Held(fake.respond)
    began = time.monotonic()
    assert trips.back(fake.authorize(url))["reason"] == "unreachable"
    assert 10 <= time.monotonic() - began < 11
    held.release()


def delayed(respond, seconds):
    def respond_late(request):
        time.sleep(seconds)
        return respond(request)

    return respond_late


def test_basic_authentication_is_used_where_it_is_announced(trips):
    fake = trips.to()
    assert trips.reason(fake) is None
    sent = last(fake, "/token")
    assert sent.headers["Authorization"].startswith("Basic ")
    assert not {"client_id", "client_secret"} & set(sent.form)


@pytest.mark.parametrize("methods", [["client_secret_post"], None, []])
def test_else_the_secret_is_in_the_body(trips, methods):
    fake = trips.to()
    fake.discovery = {"token_endpoint_auth_methods_supported": methods}
    assert trips.reason(fake) is None
    sent = last(fake, "/token")
    assert sent.headers["Authorization"] is None
    assert (sent.form["client_id"], sent.form["client_secret"]) == (CLIENT_ID, CLIENT_SECRET)


@pytest.mark.parametrize(
    ("status", "error", "reason", "seen"),
    [
        (400, "invalid_grant", "code", 400),
        (401, "invalid_client", "token", 503),
        (400, "<b>", "token", 503),
        (200, ["invalid_grant"], "token", 503),
    ],
)
def test_an_error_of_the_token_endpoint_is_told_apart(trips, status, error, reason, seen):
    fake = trips.to()
    fake.faults["/token"] = answering(status, {"error": error, "error_description": "555-0100"})
    answer = trips.trip(fake)
    assert (answer["reason"], answer["status"]) == (reason, seen)
    assert "555" not in answer["text"]


@pytest.mark.parametrize("access_token", ["", 7, None, "a\r\nX-Admin: 1", "é"])
def test_an_access_token_that_no_header_can_carry_is_refused(trips, access_token):
    fake = trips.to()
    fake.faults["/token"] = answering(body={"access_token": access_token, "id_token": "a.b.c"})
    assert trips.reason(fake) == "access_token"


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        (None, "profile_subject"),
        ("of-another", "profile_subject"),
        (248289761001, "subject_type"),
        (["248289761001"], "subject_type"),
    ],
)
def test_a_profile_of_another_subject_is_refused(trips, subject, reason):
    fake = trips.to()
    fake.profile = {"sub": subject, "email": "boss@example.com", "email_verified": True}
    assert trips.reason(fake) == reason


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (answering(401), "profile"),
        (answering(302, Location="/"), "profile"),
        (answering(429), "unreachable"),
        (answering(500), "unreachable"),
    ],
)
def test_a_profile_that_is_withheld_is_refused(trips, answer, reason):
    fake = trips.to()
    fake.faults["/userinfo"] = answer
    assert trips.reason(fake) == reason


def test_a_provider_without_profiles_is_not_asked_for_one(trips):
    fake = trips.to()
    fake.discovery = {"userinfo_endpoint": None}
    assert trips.reason(fake) is None
    assert fake.paths[-2:] == ["/token", "/keys"]


def test_a_silent_provider_holds_two_threads_at_most(trips):
    fake = trips.to()
    urls = [trips.start(fake) for _ in range(3)]
    held = Held(fake.respond)
    fake.faults["/token"] = held
    found = []

    def arrive(url):
        browser = trips.browser()
        browser.cookiejar = trips.http.cookiejar
        found.append(trips.back(fake.authorize(url), browser=browser))

    waiting = [threading.Thread(target=arrive, args=(url,)) for url in urls[:2]]
    for each in waiting:
        each.start()
    while fake.paths.count("/token") < 2:
        held.arrived.wait(0.01)
    refused = trips.http.get(fake.authorize(urls[2]).removeprefix("http://localhost"), status=503)
    fake.faults.clear()
    held.release()
    for each in waiting:
        each.join()
    assert refused.headers["Retry-After"] == "2"
    assert [each["reason"] for each in found] == [None, None]
