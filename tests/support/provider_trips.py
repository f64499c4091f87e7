"""Ways to providers and back, through `begin` and `finish` alone: a host with a view for each."""

import json
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

from webtest import TestApp

from authsite.sign_in.methods.provider import ProviderRefused, Purpose, Start, begin, finish
from tests.support.fake_provider import fake_provider
from tests.support.host import HostSite

ADDRESS = {"REMOTE_ADDR": "192.0.2.1"}


class Trips:
    """A site with ``/start`` and ``/login/with/…/return``, and providers that answer at once."""

    def __init__(self, url, providers, **settings):
        self.providers = {each.name: each for each in providers}
        self.values = {each.name: each.provider() for each in providers}
        self.site = HostSite(url, self._build, **settings)
        self.http = self.site.http

    def configure(self, name, **changes):
        """Change a provider's settings."""
        self.values[name] = self.providers[name].provider(**changes)

    def browser(self):
        """Another browser."""
        return TestApp(self.site.app, extra_environ=ADDRESS)

    def start(self, name, *, browser=None, status=200, **query):
        """The URL of the provider, for one more start."""
        browser = browser or self.http
        answer = browser.get(f"/start/{name}", query, status=status)
        return answer.json if status != 200 else answer.text

    def back(self, url, *, browser=None, name=None):
        """Call the redirect URI in ``url``: what `finish` returned, or why it refused."""
        parts = urlsplit(url)
        path = f"/login/with/{name}/return" if name else parts.path
        return (browser or self.http).get(f"{path}?{parts.query}", status="*").json

    def trip(self, name, **query):
        """There and back."""
        return self.back(self.providers[name].authorize(self.start(name, **query)))

    def _build(self, config):
        config.add_route("start", "/start/{name}")
        config.add_route("back", "/login/with/{name}/return")
        config.add_view(self._start, route_name="start")
        config.add_view(self._back, route_name="back")

    def _start(self, request):
        query = request.GET
        start = Start(
            Purpose(query.get("purpose", "sign-in")), "remember" in query, query.get("next")
        )
        provider = self.values[request.matchdict["name"]]
        try:
            with request.tm:
                request.response.text = begin(
                    request, provider, start, login_hint=query.get("login_hint")
                )
        except ProviderRefused as error:
            return _refused(request, error)
        return request.response

    def _back(self, request):
        provider = self.values[request.matchdict["name"]]
        try:
            returned = finish(request, provider)
        except ProviderRefused as error:
            return _refused(request, error)
        found = {**returned.told._asdict(), **returned.start._asdict()}
        return _json(request, {**found, "reason": None})


def _refused(request, error):
    request.response.status_int = error.status
    return _json(request, {"reason": error.reason, "status": error.status, "text": str(error)})


def _json(request, found):
    request.response.content_type = "application/json"
    request.response.text = json.dumps(found, default=str)
    return request.response


@contextmanager
def trips_with(url, *presets, **settings):
    """`Trips` to a fake of each preset."""
    with ExitStack() as stack:
        fakes = [stack.enter_context(fake_provider(each)) for each in presets]
        yield Trips(url, fakes, **settings)
