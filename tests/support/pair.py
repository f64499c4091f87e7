"""Two server processes on one database, and what tests do to both at once."""

from contextlib import contextmanager

from tests.support import databases
from tests.support.servers import serving, write_ini
from tests.support.site import PASSWORD, Site, bearer


class Pair:
    """Two `authsite serve` processes; ``site`` makes their data, on the same database.

    ``ini``: the settings of both, for commands.
    """

    def __init__(self, one, other, site, ini):
        self.one, self.other, self.site, self.ini = one, other, site, ini

    def issue(self, keys, server=None, **form):
        """Tokens of a client that acts for itself: no password is hashed."""
        form = keys.form(grant_type="client_credentials", **form)
        return _ok((server or self.one).post("/v1/oauth/token", data=form))

    def log_in(self, keys, server=None, username="ann@example.com", password=PASSWORD):
        """The password grant; the answer, whatever it is."""
        form = keys.form(grant_type="password", username=username, password=password)
        return (server or self.one).post("/v1/oauth/token", data=form)

    def refresh(self, keys, token, server=None):
        """The refresh token grant; the answer, whatever it is."""
        form = keys.form(grant_type="refresh_token", refresh_token=token)
        return (server or self.one).post("/v1/oauth/token", data=form)

    def alive(self, access_token):
        """Whether the guard takes the token; both servers must say the same."""
        # A client's own token comes in, too: it is only no user.
        said = {
            server.get("/v1/user", headers=bearer(access_token)).status_code in (200, 403)
            for server in (self.one, self.other)
        }
        assert len(said) == 1
        return said.pop()


def _ok(answer):
    assert answer.status_code == 200, answer.text
    return answer.json()


@contextmanager
def pair(backend, folder, **settings):
    """Two servers on a new database."""
    url = databases.migrated(databases.new_url(backend, folder, folder.name))
    ini = write_ini(folder, url, **settings)
    site = Site(url)
    try:
        with serving(ini) as one, serving(ini) as other:
            yield Pair(one, other, site, ini)
    finally:
        site.database.dispose()
