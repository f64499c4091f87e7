"""Ways to fake providers and back, through `begin` and `finish` alone: a host with two views."""

import itertools
import json
from contextlib import ExitStack, contextmanager
from urllib.parse import parse_qsl, urlsplit

from webtest import TestApp

from authsite.sign_in.methods.provider import (
    ProviderRefused,
    Purpose,
    Start,
    begin,
    came_back,
    finish,
)
from tests.support.fake_provider import fake_provider
from tests.support.host import HostSite

ADDRESS = {"REMOTE_ADDR": "192.0.2.1"}
NUMBERS = itertools.count(1)


class Trips:
    """A site with ``/start/…`` and ``/login/with/…/return``; `Trips.to` adds a provider.

    The name of each provider is new: a process keeps discovery and keys for an hour.
    """

    def __init__(self, url, **settings):
        self.values = {}
        self.site = HostSite(url, self._build, **settings)
        self.http = self.site.http
        self.stack = ExitStack()

    def to(self, preset="oidc", **settings):
        """A `FakeProvider` that answers until the end of the test."""
        fake = self.stack.enter_context(fake_provider(preset, f"{preset}{next(NUMBERS)}"))
        self.set(fake, **settings)
        return fake

    def set(self, fake, **settings):
        """Other settings of the provider."""
        self.values[fake.name] = fake.provider(**settings)

    def browser(self):
        """Another browser."""
        return TestApp(self.site.app, extra_environ=ADDRESS)

    def start(self, fake, *, browser=None, **query):
        """The URL of the provider for one more start, or why there is none."""
        answer = (browser or self.http).get(f"/start/{fake.name}", query, status="*")
        return answer.json if answer.status_int != 200 else answer.text

    def sent(self, fake, **query):
        """The parameters of an authorization request."""
        return dict(parse_qsl(urlsplit(self.start(fake, **query)).query))

    def back(self, url, *, browser=None, path=None):
        """Call the redirect URI in ``url``: what `finish` returned, or why it refused."""
        parts = urlsplit(url)
        target = f"{path or parts.path}?{parts.query}"
        return (browser or self.http).get(target, status="*").json

    def trip(self, fake, **query):
        """There and back."""
        return self.back(fake.authorize(self.start(fake, **query)))

    def reason(self, fake, **query):
        """Why a way there and back is refused; None if it is not."""
        return self.trip(fake, **query)["reason"]

    def _build(self, config):
        config.add_route("start", "/start/{name}")
        config.add_route("back", "/login/with/{name}/return")
        config.add_view(self._start, route_name="start")
        config.add_view(self._back, route_name="back")

    def _start(self, request):
        query = request.GET
        purpose = Purpose(query.get("purpose", "sign-in"))
        start = Start(
            purpose,
            "remember" in query,
            query.get("next"),
            prompted=purpose is Purpose.CONFIRM,
        )
        provider = self.values[request.matchdict["name"]]
        request.tm.begin()
        request.environ["tm.active"] = True
        try:
            url = begin(request, provider, start, login_hint=query.get("login_hint"))
        except ProviderRefused as error:
            request.tm.abort()
            return _refused(request, error)
        request.tm.commit()
        request.response.text = url
        return request.response

    def _back(self, request):
        provider = self.values[request.matchdict["name"]]
        try:
            returned = finish(request, provider, came_back(request, provider))
        except ProviderRefused as error:
            return _refused(request, error)
        found = {**returned.provided._asdict(), **returned.start._asdict()}
        return _json(request, {**found, "reason": None})


def _refused(request, error):
    request.response.status_int = error.status
    return _json(request, {"reason": error.reason, "status": error.status, "text": str(error)})


def _json(request, found):
    request.response.content_type = "application/json"
    request.response.text = json.dumps(found, default=str)
    return request.response


@contextmanager
def trips_at(url, **settings):
    """`Trips` whose providers answer until the end of the block."""
    trips = Trips(url, **settings)
    with trips.stack:
        yield trips
