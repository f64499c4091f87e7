"""Two services over TLS: users of ``first`` sign in at ``second``, where ``first`` is a provider.

The first is at ``https://localhost:{port}``, which the second reaches too, and the second at
``https://auth.example.test``: so they are two sites for a browser. The page of an application is at
``https://app.partner.test``, with the scripts of the web client.
"""

import shlex
from contextlib import ExitStack, contextmanager
from pathlib import Path

import authsite
from tests.support import databases, guides
from tests.support.certificates import Authority
from tests.support.front import Front
from tests.support.in_process import Commands
from tests.support.servers import free_port, serving, write_ini
from tests.support.site import Site
from tests.support.world import AUTH, PARTNER

PAGE = "sign-in-authsite"
SECOND = f"https://{AUTH}"
APPLICATION = f"https://{PARTNER}"
CLIENT_FOLDER = Path(authsite.__file__).parent / "static" / "client"


class Peer:
    """One of the services; ``site`` reads its database."""

    def __init__(self, folder, name, origin, authority):
        folder.mkdir()
        self.folder, self.origin, self.port = folder, origin, free_port()
        self.authority = authority
        self.url = databases.migrated(databases.new_url("sqlite", folder, name))
        self.site = Site(self.url)

    def commands(self):
        """Commands on its database."""
        return Commands(self.site, self.folder, base_url=self.origin)

    def serving(self, **settings):
        """Its server, running."""
        ini = write_ini(
            self.folder, self.url, base_url=self.origin, trusted_proxies="127.0.0.1",
            mail_driver="file", mail_folder=self.folder / "mail", **settings,
        )  # fmt: skip
        trust = {"SSL_CERT_FILE": str(self.authority.path)}
        return serving(ini, port=self.port, **trust)


class Peers:
    """Both, as docs/sign-in-authsite.md connects them."""

    def __init__(self, folder):
        self.folder, self.authority = folder, Authority(folder)
        self.front = Front(
            folder / "nginx",
            self.authority.sign("localhost", AUTH, PARTNER),
            free_port(),
            free_port(),
        )
        own = f"https://localhost:{self.front.tls}"
        self.first = Peer(folder / "first", "first", own, self.authority)
        self.second = Peer(folder / "second", "second", SECOND, self.authority)
        self.front.authsite("localhost", "first", [self.first.port])
        self.front.authsite(AUTH, "second", [self.second.port])
        self.front.site(PARTNER, folder=CLIENT_FOLDER, calls=self.first.origin)

    def local(self, text):
        """A text of the page with the addresses of this place."""
        text = text.replace("https://people.example.org", self.first.origin)
        return text.replace("https://auth.example.org", self.second.origin)

    def connect(self):
        """Run the command of the page at the first; the settings of the page for the second."""
        [command] = guides.commands(PAGE)
        words = shlex.split(self.local(command.text).replace("\\\n", " "))
        self.client = self.first.commands().json(*words[1:])
        given = {}
        for block in guides.blocks(PAGE):
            if block.language == "ini":
                given |= dict(line.split(" = ", 1) for line in self.local(block.text).splitlines())
        given = {key.removeprefix("authsite."): value for key, value in given.items()}
        return given | {
            "providers.people.client-id": self.client["client_id"],
            "providers.people.client-secret": self.client["client_secret"],
        }

    @contextmanager
    def running(self):
        """All servers, running."""
        with ExitStack() as stack:
            stack.enter_context(self.first.serving())
            stack.enter_context(self.second.serving(**self.connect()))
            stack.enter_context(self.front.running())
            try:
                yield self
            finally:
                for peer in (self.first, self.second):
                    peer.site.database.dispose()
