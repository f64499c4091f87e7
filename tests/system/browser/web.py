"""What the tests of the web client share: a server with users, and tabs that use the client."""

import re
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import authsite
from authsite.oauth.tokens import families
from authsite.platform.http.headers import PAGE_POLICY
from tests.support import databases
from tests.support.acting import acting
from tests.support.servers import serving, write_ini
from tests.support.site import PASSWORD, WEB, Site

# Same site as the servers, another origin. No server listens there: the tests answer.
OTHER_ORIGIN = "http://127.0.0.1:65000"
USERS = ("ann@example.com", "bob@example.com")
MODULE = "/authsite/static/current/client/authsite.js"

CLIENT_FOLDER = Path(authsite.__file__).parent / "static" / "client"

NO_LOCKS = "Object.defineProperty(Navigator.prototype, 'locks', { value: undefined })"
NO_CHANNEL = "delete window.BroadcastChannel"
LATE_NEWS = """
    const channel = BroadcastChannel.prototype;
    const { set } = Object.getOwnPropertyDescriptor(channel, "onmessage");
    Object.defineProperty(channel, "onmessage", {
        set(listener) { set.call(this, (event) => setTimeout(listener, 40, event)); },
    });
"""

# The client's timeouts in milliseconds: for a refresh, and for the lock that tabs share.
REFRESH_TIMEOUT, LOCK_TIMEOUT = 6_000, 20_000
TOKEN_LIFETIME = 3600  # seconds

START = """async ([module, options]) => {
    Object.assign(window, await import(module));
    window.auth = createClient(options);
    window.changes = [];
    auth.onChange(({ reason }) => changes.push(reason));
    // A failure as plain values, a response as its status; a test must not wait for ever.
    window.outcome = (promise) => Promise.race([
        promise.then(
            (value) => (value instanceof Response ? value.status : value ?? "done"),
            (error) => ({ ...error, name: error.name, ours: error instanceof AuthsiteError }),
        ),
        new Promise((resolve) => setTimeout(resolve, 30_000, "nothing came in 30 seconds")),
    ]);
    window.gets = (count) => Promise.all(
        Array.from({ length: count }, () => outcome(auth.fetch("/v1/user"))),
    );
}"""


@contextmanager
def other_site(*names):
    """A foreign site, whose every page says "landed"; yields an origin for each name."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Landing)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield [f"http://{name}:{server.server_port}" for name in names]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Landing(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        icon = '<link rel="icon" href="data:,">'
        self.wfile.write(f"<!doctype html><title>landed</title>{icon}<p>landed".encode())

    def log_message(self, *_):
        """Quiet."""


@contextmanager
def web_server(folder, **settings):
    """A real server with the web client and `USERS`; yields ``(origin, site)``."""
    url = databases.migrated(databases.new_url("sqlite", folder, "web"))
    site = Site(url, **WEB)
    site.first_party("web")
    for email in USERS:
        site.user(email)
    with serving(write_ini(folder, url, **WEB, **settings)) as http:
        yield str(http.base_url).rstrip("/"), site
    site.database.dispose()


class Tabs:
    """The tabs of one browser profile at one origin, and what they sent."""

    def __init__(self, context, origin, *, policy=PAGE_POLICY, restore=True, **options):
        self.context, self.origin = context, origin
        self.restore, self.options = restore, options
        self.sent = []
        context.on("request", lambda request: self.sent.append(request))
        context.route(
            f"{origin}/blank",
            lambda route: route.fulfill(
                content_type="text/html",
                headers={"Content-Security-Policy": policy} if policy else {},
                body="<!doctype html><title>a page</title>",
            ),
        )
        if origin == OTHER_ORIGIN:
            context.route(f"{origin}/**/*.js", _from_disk)

    def open(self, *scripts):
        """A new tab with the client as ``auth``; ``scripts`` run before it."""
        page = self.context.new_page()
        for script in scripts:
            page.add_init_script(script)
        page.goto(f"{self.origin}/blank")
        self.start(page)
        return page

    def reload(self, page):
        """Load the page of a tab again."""
        page.reload()
        self.start(page)

    def start(self, page):
        page.evaluate(START, [MODULE, self.options])
        if self.restore:
            assert page.evaluate("outcome(auth.restore())") in (True, False)

    def signed_in(self, *scripts, email=USERS[0]):
        """A new tab where a user has just logged in."""
        page = self.open(*scripts)
        login(page, email)
        return page

    def paths(self, pattern):
        """The paths of all requests so far that match ``pattern``."""
        paths = [urlsplit(request.url).path for request in self.sent]
        return [path for path in paths if re.search(pattern, path)]

    def refreshes(self):
        """How many refreshes were sent so far."""
        return len(self.paths("/refresh$"))

    def forget(self):
        """Count from here on."""
        self.sent.clear()

    @contextmanager
    def held(self, pattern):
        """The first request that matches waits inside the block, which gets a list of it."""
        waiting = []

        def hold(route):
            waiting.append(route)

        self.context.route(re.compile(pattern), hold, times=1)
        yield waiting
        for route in waiting:
            route.continue_()


def login(page, email=USERS[0]):
    """Log in through the client of a tab."""
    assert page.evaluate("(it) => outcome(auth.login(...it))", [email, PASSWORD]) == "done"


def impatient(milliseconds):
    """A script that shortens the client's first timeout of this length, to a fortieth."""
    return f"""
        const {{ timeout }} = AbortSignal;
        let shortened = false;
        AbortSignal.timeout = (given) => {{
            const shorten = given === {milliseconds} && !shortened;
            shortened ||= shorten;
            return timeout.call(AbortSignal, shorten ? given / 40 : given);
        }};
    """


def expire(*pages):
    """Put the clock of these tabs forward, past the end of every access token.

    The messages of other tabs arrive first. One that arrived during the refresh that follows
    would replace its result by tokens that have expired on this clock.
    """
    for page in pages:
        page.evaluate("new Promise((resolve) => setTimeout(resolve, 500))")
    for page in pages:
        page.evaluate(
            "(passed) => { const { now } = Date; Date.now = () => now() + passed; }",
            (TOKEN_LIFETIME + 1) * 1000,
        )


def wait_for(page, fact):
    """Wait until ``fact()`` holds, at most thirty seconds, while the browser goes on."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if fact():
            return
        page.wait_for_timeout(20)
    raise AssertionError("it did not happen in thirty seconds")


def until_held(page, waiting):
    """Wait for the request that `Tabs.held` holds back."""
    wait_for(page, lambda: waiting)


def until(page, condition):
    """Wait for a JavaScript condition in a tab, which may `await`."""
    wait_for(page, lambda: page.evaluate(f"async () => {condition}"))


def _from_disk(route):
    name = urlsplit(route.request.url).path.rpartition("/")[2]
    route.fulfill(path=CLIENT_FOLDER / name, content_type="text/javascript")


def revoke(site):
    """End the session of the last login on the server."""
    with site.db() as db:
        families.revoke(acting(db), newest(site).id, "test")


def newest(site):
    """The family of the last login."""
    return site.families()[-1]
