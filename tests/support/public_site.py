"""authsite behind TLS, people with browsers, and relying parties beside it as processes.

authsite is at ``https://localhost`` and the relying parties at ``http://127.0.0.1``: other sites,
so that browsers send cookies as `SameSite` says.
"""

import json
import re
import subprocess
from contextlib import contextmanager
from uuid import uuid4

from sqlalchemy import update

from authsite.users.models import User
from tests.support import databases, nginx
from tests.support.certificates import Authority
from tests.support.home import CHECKOUT
from tests.support.installed import clean_environ
from tests.support.servers import authsite, free_port, serving, stop, wait_for_port, write_ini
from tests.support.site import PASSWORD, Site

NAME = "localhost"


class Place:
    """``issuer`` is authsite's address; ``site`` reads its database."""

    def __init__(self, folder, **settings):
        self.folder = folder
        self.authority = Authority(folder)
        self.port, self.inner = free_port(), free_port()
        self.issuer = f"https://{NAME}:{self.port}"
        url = databases.migrated(databases.new_url("sqlite", folder, "clients"))
        self.site = Site(url, base_url=self.issuer)
        self.ini = write_ini(
            folder, url, base_url=self.issuer, trusted_proxies=nginx.ADDRESS,
            mail_driver="file", mail_folder=folder / "mail", **settings,
        )  # fmt: skip

    @contextmanager
    def running(self, **variables):
        """authsite and nginx until the end of the block; ``variables``: of authsite."""
        certificate = self.authority.sign(NAME)
        # The metadata is asked through the public address by authsite's own commands, too.
        trust = {"SSL_CERT_FILE": str(self.authority.path)}
        with (
            serving(self.ini, port=self.inner, **trust, **variables) as self.http,
            nginx.in_front_of(
                self.inner, self.port, self.folder, name=NAME, certificate=certificate
            ),
        ):
            yield self
        self.site.database.dispose()

    def command(self, *arguments, status=0):
        """The JSON that a command of authsite prints."""
        trust = {"SSL_CERT_FILE": str(self.authority.path)}
        done = authsite(*arguments, "--json", ini=self.ini, **trust)
        assert done.returncode == status, done.stdout + done.stderr
        return json.loads(done.stdout)

    def client(self, *redirect_uris, type="server", **options):
        """A new client: what ``authsite client create`` prints."""
        given = [["--redirect-uri", each] for each in redirect_uris]
        for name, value in options.items():
            values = value if isinstance(value, list) else [value]
            given += [[f"--{name.replace('_', '-')}", each] for each in values]
        flat = [text for pair in given for text in pair]
        return self.command("client", "create", "--name", "Orders", "--type", type, *flat)

    def preset(self, name, url, *more):
        """Register an application: the client, and the text of each file by its name."""
        made = self.command("client", "add", "--for", name, "--url", url, *more)
        return made, {each["name"]: each["text"] for each in made["files"]}

    def generic(self, *redirect_uris):
        """Register any application by its redirect URIs; the client."""
        given = [text for uri in redirect_uris for text in ("--url", uri)]
        return self.command("client", "add", "--for", "generic", *given)

    def relying_party(self, name):
        """A new `RelyingParty` of this place."""
        return RelyingParty(self, name)

    def person(self, context, *, confirmed=True, **columns):
        """A new user with this browser; ``columns`` are further ones of the row."""
        email = f"user-{uuid4().hex[:12]}@example.com"
        user = self.site.user(email, confirmed=confirmed)
        if columns:
            with self.site.db() as db:
                db.execute(update(User).where(User.id == user.id).values(columns))
        return Person(context, self, user)

    @contextmanager
    def process(self, command, port, *, folder=None, log="app.log", **variables):
        """A relying party at ``port`` until the end of the block, which trusts authsite."""
        trust = str(self.authority.path)
        names = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE")
        environ = clean_environ(**dict.fromkeys(names, trust), **variables)
        path = self.folder / log
        with open(path, "wb") as output:
            process = subprocess.Popen(
                list(map(str, command)), cwd=folder or CHECKOUT, env=environ,
                stdout=output, stderr=output,
            )  # fmt: skip
        try:
            try:
                wait_for_port(port, process)
            except RuntimeError as error:
                raise RuntimeError(f"{error}:\n{path.read_text(errors='replace')}") from None
            yield path
        finally:
            stop(process)


class RelyingParty:
    """``url`` is where an application will be; its configuration goes to the new ``folder``."""

    def __init__(self, place, name):
        self.place, self.port = place, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = place.folder / name
        self.folder.mkdir()

    def preset(self, name, *more):
        """Register it as `Place.preset` does; the text of each printed file by its name."""
        _, files = self.place.preset(name, self.url, *more)
        return files

    def running(self, command, **variables):
        """Its process, as `Place.process` runs it in ``folder``."""
        log = f"{self.folder.name}.log"
        return self.place.process(command, self.port, folder=self.folder, log=log, **variables)


class Person:
    """A person with an account, a password and a browser."""

    def __init__(self, context, place, user):
        self.page, self.place, self.user = context.new_page(), place, user
        self.id, self.email, self.password = str(user.id), user.email, PASSWORD

    def sign_in(self):
        """By the login page of authsite, where the relying party has led to."""
        self.at(f"{self.place.issuer}/login")
        self.page.locator("[name=username]").fill(self.email)
        self.page.locator("[name=password]").fill(self.password)
        self.page.locator("form:has([name=password]) button:not([type=button])").first.click()

    def enter(self, url, landing):
        """Open ``url``, which needs a sign-in; sign in, allow it, and come to ``landing``."""
        self.page.goto(url)
        self.sign_in()
        self.allow()
        self.at(landing)

    def confirm_logout(self):
        """On the page that asks before the session ends."""
        self.at(f"{self.place.issuer}/oauth/logout")
        self.press("button[name=decision][value=sign_out]")

    def allow(self):
        """On the page that asks whether the application may know who this is."""
        self.press("button[name=decision][value=allow]")

    def deny(self):
        self.press("button[name=decision][value=deny]")

    def press(self, selector):
        """Press the first such button; says which page is shown if it has none."""
        try:
            self.page.locator(selector).first.click()
        except Exception as error:
            raise self.lost(f"no {selector}") from error

    def at(self, url):
        """Until the browser is at ``url``, whatever its query."""
        try:
            self.page.wait_for_url(re.compile(rf"{re.escape(url)}([?#].*)?$"))
        except Exception as error:
            raise self.lost(f"not at {url}") from error

    def text(self):
        return self.page.locator("body").inner_text()

    def is_signed_in(self):
        """Whether authsite knows this browser."""
        self.page.goto(f"{self.place.issuer}/account")
        return self.page.url.startswith(f"{self.place.issuer}/account")

    def lost(self, what):
        """An exception that says which page is shown, and what the server logged."""
        log = self.place.http.log.read_text(errors="replace")[-1500:]
        return AssertionError(f"{what}, but {self.page.url}:\n{self.text()}\n{log}")
