"""A person at the pages, and the mailbox they read."""

import re
import time
from contextlib import contextmanager

from tests.support import databases
from tests.support.mails import link_in, read_folder
from tests.support.servers import serving, write_ini
from tests.support.site import WEB, Site

PASSWORD, SECOND, THIRD = "purple wolf 77 tea", "green otter 31 rye", "silver heron 58 fig"
EMAIL = "ann@example.com"


@contextmanager
def pages_server(folder, variables=(), prepare=None, **settings):
    """A real server whose mails land in a folder; yields ``(origin, folder of mails)``.

    ``variables`` are those of its environment; ``prepare`` gets the `Site`, before it starts.
    """
    url = databases.migrated(databases.new_url("sqlite", folder, "pages"))
    box = folder / "mail"
    site = Site(url, **WEB)
    site.first_party("web")
    if prepare:
        prepare(site)
    site.database.dispose()
    ini = write_ini(folder, url, mail_driver="file", mail_folder=box, **WEB, **settings)
    with serving(ini, **dict(variables)) as http:
        yield str(http.base_url).rstrip("/"), box


class Person:
    """A person with a browser window and a mailbox; ``others`` are origins that they visit, too.

    ``words`` puts the English names of buttons and texts into the language of the pages.
    """

    def __init__(self, context, origin, box, *others, words=str):
        self.words = words
        self.page, self.origin, self.box = context.new_page(), origin, box
        self.known = (origin, "data:", *others)
        self.troubles = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("requestfailed", self._failed)
        self.page.on("request", self._asked)

    def _heard(self, message):
        # A form with mistakes is answered with 422, which the browser notes as an error.
        if message.type in ("error", "warning") and "422" not in message.text:
            self.troubles.append(message.text)

    def _failed(self, request):
        if "ERR_ABORTED" not in (request.failure or ""):  # the reader had gone on already
            self.troubles.append(f"{request.url}: {request.failure}")

    def _asked(self, request):
        if not request.url.startswith(self.known):
            self.troubles.append(f"a foreign host: {request.url}")

    def go(self, path):
        self.page.goto(self.origin + path)

    def fill(self, **fields):
        for name, value in fields.items():
            self.page.locator(f"[name={name}]:visible").first.fill(value)

    def press(self, name):
        buttons = self.page.get_by_role("button", name=self.words(name), exact=True)
        buttons.locator("visible=true").first.click()

    def follow(self, name):
        """Follow a link."""
        self.page.get_by_role("link", name=self.words(name), exact=True).first.click()

    def open(self, name):
        """Unfold a part of the page."""
        self._unfold(self.page.locator("summary", has_text=self.words(name)).first)

    def change(self, what):
        """Open the form that changes a row of an account page."""
        self._unfold(self.page.locator("summary", has_text=f": {self.words(what)}").first)

    def _unfold(self, summary):
        summary.click()
        if self.page.locator(".can-show").count():
            # The script moves the focus into the form in the next frame: nothing is typed before.
            self.page.evaluate("new Promise((done) => requestAnimationFrame(done))")

    def sees(self, text):
        self.page.get_by_text(re.compile(re.escape(self.words(text).strip()))).locator(
            "visible=true"
        ).first.wait_for()

    def at(self, path):
        self.page.wait_for_url(re.compile(re.escape(self.origin + path) + r"([?#].*)?$"))

    @contextmanager
    def led_to(self, origin):
        """The page that comes leads on to ``origin``, where the answer is 204.

        Waits until it has done so: a later step would be aborted by it.
        """
        with self.page.expect_event(
            "requestfailed", lambda request: request.url.startswith(origin)
        ):
            yield

    def mail(self, seconds=60):
        """The next mails, oldest first; waits until there is one."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = read_folder(self.box)
            if found:
                return found
            time.sleep(0.1)
        raise AssertionError("no mail came")

    def link(self, kinds="verify|reset|cancel|revert|not-me"):
        """The link in the next mail that has one of these kinds."""
        while True:
            for mail in self.mail():
                try:
                    link = link_in(mail)
                except TypeError:
                    continue
                if re.search(rf"/({kinds})/", link):
                    return link

    def sign_in(self, password=PASSWORD, email=EMAIL):
        self.go("/login")
        self.fill(username=email, password=password)
        self.press("Sign in")
