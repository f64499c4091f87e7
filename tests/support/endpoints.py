"""Every endpoint that takes a body, found in the application itself: a new one is tested too."""

from dataclasses import dataclass
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from authsite import main
from tests.support.site import PASSWORD, SECRET, WEB, bearer

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
# A body that most endpoints take as it is; names they do not know are ignored.
GOOD = {
    "grant_type": "password",
    "client_id": WEB["clients.web.id"],
    "client_secret": WEB["clients.web.secret"],
    "username": "ann@example.com",
    "password": PASSWORD,
    "current_password": PASSWORD,
}
IN_PATHS = {
    "client": "web",
    "id": str(UUID(int=1)),
    "user_id": str(UUID(int=1)),
    "client_id": str(UUID(int=1)),
    "hash": "0" * 64,
    "token": "x",
}

OAUTH = ("/v1/oauth/", "/v1/clients/", "/v1/mfa/", "/v1/passkeys/")
"""The paths whose errors are worded as RFC 6749 has it."""


@dataclass(frozen=True)
class Endpoint:
    """A method, a path without placeholders, and the model of the body."""

    method: str
    path: str
    model: Any

    def __str__(self):
        return f"{self.method} {self.path}"

    @property
    def oauth(self):
        """Whether its errors are worded as RFC 6749 has it."""
        return self.path.startswith(OAUTH)

    @property
    def good(self):
        """A body without mistakes, as far as that can be told from here."""
        # At a proxy a second name would be one too many; no user has this address yet.
        return GOOD if self.oauth else GOOD | {"email": "bo@example.com"}

    def send(self, site, body, content_type):
        """The answer to ``body``, whatever it is, for a caller without cookies."""
        site.http.reset()
        return site.http.request(
            self.path,
            method=self.method,
            body=body if isinstance(body, bytes) else body.encode(),
            content_type=content_type,
            headers=bearer(site.token_of_ann),
            status="*",
        )


# They are there with OpenID Connect alone, which the site of these tests has not: tests/device.
OPENID_ALONE = ("authsite.oauth.device",)


def endpoints():
    """All of them under /v1."""
    made = {
        Endpoint(view["request_methods"], pattern.format(**IN_PATHS), model)
        for view, pattern in views_and_patterns()
        if (model := view.get("body")) and pattern.startswith("/v1/")
        if view["route_name"] not in OPENID_ALONE
    }
    return sorted(made, key=str)


def posts():
    """The path of every POST route, under /v1 or a page."""
    found = {pattern for view, pattern in views_and_patterns() if "POST" in _methods(view)}
    return sorted(pattern.format(**IN_PATHS) for pattern in found)


def changing():
    """(method, path) of every route that may change something, under /v1 or a page."""
    safe = {"GET", "HEAD", "OPTIONS"}
    return sorted(
        (method, pattern.format(**IN_PATHS))
        for view, pattern in views_and_patterns()
        for method in _methods(view) - safe
    )


@cache
def views_and_patterns():
    """Every view that a route leads to, and the pattern of that; static files are left out."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/never-opened.sqlite"
        here = "http://localhost:6543"  # which switches the OpenID Provider on
        values = {"secret": SECRET, "database-url": url, "base-url": here}
        app = main({}, **{f"authsite.{name}": value for name, value in values.items()})
    found = app.registry.introspector
    routes = {
        item["introspectable"]["name"]: item["introspectable"]["pattern"]
        for item in found.get_category("routes")
    }
    views = [item["introspectable"] for item in found.get_category("views")]
    return [
        (view, routes[name])
        for view in views
        if (name := view["route_name"]) and name != "authsite.static"
    ]


def _methods(view):
    methods = view["request_methods"] or ("POST",)  # without any it answers all
    return {methods} if isinstance(methods, str) else set(methods)


def assert_refused(answer, endpoint, *statuses):
    """A refusal of the right status and shape, which no cache keeps."""
    assert answer.status_int in statuses, answer
    wanted = {"error", "error_description", "message"} if endpoint.oauth else {"message", "errors"}
    assert set(answer.json) >= wanted
    assert answer.headers["Cache-Control"] == "no-store"
