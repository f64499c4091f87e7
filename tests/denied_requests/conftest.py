"""A site on which each reason can be tried."""

from contextlib import contextmanager
from threading import Event

import pytest
from sqlalchemy import update

from authsite.oauth.oidc.keys.ring import ring_of
from authsite.oauth.oidc.keys.scheduled import keep_keys
from authsite.oauth.oidc.keys.stored import SigningKey
from authsite.platform.denied_requests.notes import notes_of
from tests.support.authorizing import OPENID
from tests.support.in_process import Commands


class World:
    """``site``: a site with OpenID Connect; ``another`` makes one with further settings."""

    def __init__(self, site_with, fixture):
        self._site_with, self.fixture, self._site = site_with, fixture, None
        self.monkeypatch, self.folder = fixture("monkeypatch"), fixture("tmp_path")

    @property
    def site(self):
        return self._site or self.another()

    def another(self, **settings):
        self.settings = {**OPENID, **settings}
        self._site = self._site_with(**self.settings)
        self.notes.wake = Event()  # a task writes, as under `authsite serve`
        return self._site

    def commands(self):
        """Commands on the database of the site, which know the same providers."""
        own = {name: text for name, text in self.settings.items() if name.startswith("providers")}
        return Commands(self.site, self.folder, **own)

    @property
    def notes(self):
        """The denied requests that wait."""
        return notes_of(self.site.app.registry["authsite"])

    @contextmanager
    def without_keys(self):
        """No key of the site can sign."""
        services = self.site.app.registry["authsite"]
        ring_of(services).forget()
        keep_keys(services)
        with self.site.db() as db:
            db.execute(update(SigningKey).values(private="unreadable"))
        ring_of(services).forget()
        yield
        ring_of(services).forget()


@pytest.fixture
def world(site_with, request):
    made = World(site_with, request.getfixturevalue)
    yield made
    made.notes.wake = None
