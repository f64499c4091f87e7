"""The redirect page: it uses links of ours and touches no others."""

import http.server
import threading
from datetime import timedelta

import pytest

from authsite.platform.crypto.keys import KeyRing
from authsite.platform.runtime import clock
from authsite.verification.links import PURPOSE, sign
from tests.support.pages import csrf_of
from tests.support.site import SECRET


def link_for(user, lifetime=timedelta(hours=1), base="http://localhost"):
    ring = KeyRing([SECRET], PURPOSE)
    return sign(ring, base, user.id, user.email, clock.now() + lifetime)


def confirmed(site, user):
    with site.db() as db:
        return db.get(type(user), user.id).email_verified_at is not None


def test_the_button_verifies_and_displaying_the_page_does_not(site):
    user = site.user()
    url = link_for(user)
    page = site.http.get("/email/verify", params={"url": url}, status=200)
    assert not confirmed(site, user)
    form = {"csrf_token": csrf_of(page), "url": url}
    site.http.post("/email/verify", form, status=200)
    assert confirmed(site, user)


def test_the_page_of_an_expired_link_describes_what_to_do(site):
    url = link_for(site.user(), timedelta(seconds=-1))
    page = site.http.get("/email/verify", params={"url": url}, status=403)
    assert "has expired" in page.text
    assert "Confirmation links expire after 1 hour. Request a new one." in page.text


def hostile(good, port):
    rest = good.removeprefix("http://localhost")
    return [
        "", "x", "javascript:alert(1)", "data:text/html,x", "//evil.example" + rest,
        "https://evil.example" + rest, "http://localhost.evil.example" + rest,
        "http://localhost@evil.example" + rest, "http://evil.example#" + good,
        "http://localhost:80" + rest, "HTTP://localhost" + rest, "https://localhost" + rest,
        "http://LOCALHOST" + rest, "http://localhost/" + rest, "http://localhost/." + rest,
        "http://localhost/x/.." + rest, rest, " " + good, good + " ", good + "#x", good + "&x=1",
        good + "#", good + "&url=http://evil.example", good.replace("/v1/", "/v1/./"),
        good.replace("/email/", "/email%2f"), good.replace("?", "%3f"), good[:-1], good + "0",
        good.replace("expires=", "expires=1"), "http://169.254.169.254/latest/meta-data",
        f"http://127.0.0.1:{port}{rest}", "file:///etc/passwd", "http://localhost\\@evil" + rest,
        "http://localhost/login", "http://localhost/v1/email/verify/",
    ]  # fmt: skip


@pytest.fixture
def canary():
    """A server that notes who asks it anything."""
    seen = []

    class Noting(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.path)
            self.send_response(200)
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Noting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1], seen
    server.shutdown()


@pytest.mark.control("F08")
@pytest.mark.control("F09")
def test_a_url_that_is_not_exactly_ours_is_never_fetched_followed_or_shown(site, canary):
    port, seen = canary
    user = site.user()
    token = csrf_of(site.http.get("/email/verify", params={"url": link_for(user)}))
    pages = set()
    for url in hostile(link_for(user), port):
        page = site.http.get("/email/verify", params={"url": url}, status=403)
        posted = site.http.post("/email/verify", {"csrf_token": token, "url": url}, status="*")
        assert posted.status_int in (403, 422), url
        for answer in (page, posted):
            assert "Location" not in answer.headers
            assert "evil.example" not in answer.text
            assert "169.254" not in answer.text
        if url:  # without any, the page says that it forgot it when it was loaded again
            pages.add(page.text)
    assert len(pages) == 1  # one fixed error
    assert seen == []
    assert not confirmed(site, user)


@pytest.mark.control("F17")
def test_pages_with_a_token_are_not_stored_nor_their_address_sent_on(site):
    user = site.user()
    for path, params in (
        ("/email/verify", {"url": link_for(user)}),
        ("/password/reset", {"email": user.email, "token": site.reset_token(user)}),
    ):
        answer = site.http.get(path, params=params)
        assert answer.headers["Referrer-Policy"] == "same-origin"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "http" not in answer.headers["Content-Security-Policy"]


@pytest.mark.control("F13")
def test_displaying_the_reset_page_leaves_the_link_valid_and_the_form_resets(site):
    user = site.user()
    token = site.reset_token(user)
    params = {"email": user.email, "token": token}
    page = site.http.get("/password/reset", params=params)
    page = site.http.get("/password/reset", params=params)
    form = {**params, "csrf_token": csrf_of(page), "password": "password1"}
    again = site.http.post("/password/reset", form, status=422)
    assert token in again.text  # the form can be sent once more
    assert "password1" not in again.text
    form["password"] = "purple wolf 77 tea"
    site.http.post("/password/reset", form, status=303)
    site.http.post("/password/reset", form, status=422)
    site.login(site.client(), password="purple wolf 77 tea")
