"""What the suite of the OpenID Foundation does, as a relying party with a browser."""

import hashlib
import secrets
import ssl
import threading
import time
from base64 import urlsafe_b64encode
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
from joserfc import jwt
from joserfc.jwk import KeySet

from tests.support.certificates import server_context

NAME = "suite.example.test"  # the browser finds it on this machine
SECONDS = 30


class Landing(ThreadingHTTPServer):
    """The relying party's own server, on another site; ``came`` has the URLs that were opened."""

    daemon_threads = True

    def __init__(self, authority):
        super().__init__(("127.0.0.1", 0), _Page)
        context = server_context(authority.sign(NAME))
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.origin, self.came = f"https://{NAME}:{self.server_port}", []

    def handle_error(self, request, client_address):
        """A browser that goes away is not an error."""


class _Page(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/favicon.ico":
            self.server.came.append(f"{self.server.origin}{self.path}")
        body = b"<!doctype html><title>back</title>back"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def landing(authority):
    """A `Landing` until the end of the block."""
    server = Landing(authority)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Suite:
    """A client that needs no PKCE, as the suite sends none; ``other`` is a second one."""

    def __init__(self, place, server):
        self.place, self.issuer, self.server = place, place.issuer, server
        self.callback = f"{server.origin}/callback"
        self.bye = f"{server.origin}/post_logout_redirect"
        self.http = httpx.Client(
            verify=ssl.create_default_context(cafile=str(place.authority.path)), timeout=30
        )
        self.metadata = self.http.get(f"{self.issuer}/.well-known/openid-configuration").json()
        self.client, self.other = self.register(), self.register()

    def register(self, **options):
        """A client with both URIs."""
        given = {"pkce": "optional", "post_logout_redirect_uri": self.bye, **options}
        return self.place.client(self.callback, **given)

    def request(self, client=None, **changes):
        """The parameters of an authorization request; None leaves one out."""
        query = {
            "response_type": "code",
            "client_id": (client or self.client)["client_id"],
            "redirect_uri": self.callback,
            "scope": "openid",
            "state": secrets.token_urlsafe(8),
            "nonce": secrets.token_urlsafe(8),
            **changes,
        }
        return {name: value for name, value in query.items() if value is not None}

    def authorize(self, browser, client=None, **changes):
        """There and back: the request, and the parameters that came back."""
        sent = self.request(client, **changes)
        browser.open(self.url(sent))
        return sent, browser.answer(sent["redirect_uri"])

    def url(self, sent):
        return f"{self.metadata['authorization_endpoint']}?{urlencode(sent)}"

    def redeem(self, code, client=None, *, post=False, **more):
        """The response of the token endpoint for a code."""
        client = client or self.client
        keys = client["client_id"], client["client_secret"]
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.callback,
            **more,
        }
        if post:
            form |= dict(zip(("client_id", "client_secret"), keys, strict=True))
        return self.http.post(
            self.metadata["token_endpoint"], data=form, auth=None if post else keys
        )

    def refresh(self, refresh_token, client=None):
        client = client or self.client
        return self.http.post(
            self.metadata["token_endpoint"],
            data={"grant_type": "refresh_token", "refresh_token": refresh_token},
            auth=(client["client_id"], client["client_secret"]),
        )

    def userinfo(self, access_token, method="GET", **more):
        headers = {"Authorization": f"Bearer {access_token}"} if access_token else {}
        return self.http.request(
            method, self.metadata["userinfo_endpoint"], headers=headers, **more
        )

    def sign_in(self, browser, client=None, **changes):
        """Through everything: the tokens, and the claims of the ID token, which are checked."""
        sent, back = self.authorize(browser, client, **changes)
        assert "code" in back, back
        assert back["state"] == sent["state"]
        assert back["iss"] == self.issuer
        answer = self.redeem(back["code"], client)
        assert answer.status_code == 200, answer.text
        tokens = answer.json()
        return tokens, self.claims(tokens, sent, client)

    def claims(self, tokens, sent, client=None):
        """The claims of the ID token in ``tokens`` (OpenID Connect Core 1.0, 3.1.3.3, 3.1.3.7)."""
        assert tokens["token_type"].lower() == "bearer"
        token = self.decode(tokens["id_token"])
        claims, now = token.claims, time.time()
        assert claims["iss"] == self.issuer
        assert claims["aud"] == (client or self.client)["client_id"]
        assert claims["exp"] > now - 5
        assert abs(claims["iat"] - now) < 300
        assert claims["sub"].isascii()
        assert len(claims["sub"]) <= 255
        assert claims.get("nonce") == sent.get("nonce")
        digest = hashlib.sha256(tokens["access_token"].encode()).digest()
        assert claims["at_hash"] == urlsafe_b64encode(digest[:16]).rstrip(b"=").decode()
        assert None not in claims.values()
        return claims

    def decode(self, id_token):
        """The token, if a published key has signed it."""
        keys = KeySet.import_key_set(self.http.get(self.metadata["jwks_uri"]).json())
        return jwt.decode(id_token, keys, algorithms=["RS256", "ES256"])


class Browser:
    """A person's browser: signs in and allows whenever it is asked to."""

    def __init__(self, person, server):
        self.person, self.page = person, person.page
        self.came_back, self.pages = server.came, []

    def open(self, url):
        self.page.goto(url)

    def answer(self, uri):
        """The parameters with which the browser comes to ``uri``; it does what the pages ask for.

        ``pages`` says which these were.
        """
        self.pages = []
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            if self.came_back:
                url = self.came_back.pop(0)
                assert url.partition("?")[0] == uri.partition("?")[0]
                self.page.wait_for_url(url)  # the page is there, so the next one interrupts nothing
                return dict(parse_qsl(urlsplit(url).query))
            self._act()
            self.page.wait_for_timeout(50)
        raise self.person.lost("the browser did not come back")

    def stays(self):
        """The text of the page that is shown, since the browser is not led back."""
        self.page.wait_for_load_state()
        assert self.page.url.startswith(self.person.place.issuer)
        assert self.came_back == []
        return self.person.text()

    def _act(self):
        page = self.page
        if page.locator("[name=password]:visible").count():
            self._note("login")
            if page.locator("[name=username]:visible").count():
                page.locator("[name=username]").fill(self.person.email)
            page.locator("[name=password]").fill(self.person.password)
            with page.expect_response(lambda answer: answer.request.method == "POST"):
                page.locator("form:has([name=password]) button:not([type=button])").first.click()
        elif page.locator("[name=current_password]:visible").count():
            self._note("verify")
            page.locator("[name=current_password]").fill(self.person.password)
            page.locator(
                "form:has([name=current_password]) button:not([type=button])"
            ).first.click()
        elif page.locator("button[name=decision][value=allow]:visible").count():
            self._note("consent")
            page.locator("button[name=decision][value=allow]").click()

    def _note(self, name):
        assert name not in self.pages, self.person.lost(f"the page {name} comes again")
        self.pages.append(name)
