"""A day of support at the console: in Chromium and through TLS, from an installed wheel.

The usual run has one walk; everything (`tests.support.extent`) has one in each language, and one
without JavaScript.
"""

from types import SimpleNamespace
from uuid import uuid4

import pytest

from tests.support import extent
from tests.support.languages import words_of
from tests.support.member import Member
from tests.support.passersby import Passersby
from tests.support.visitor import Mailbox
from tests.support.world import AUTH
from tests.system.browser.axe import AGAIN, CONTRAST, WHOLE, violations
from tests.system.browser.gallery import CUT

pytestmark = pytest.mark.slow

WIDTHS = (360, 1280)
LANGUAGES = ["de", "en", "es", "fr"]
WALKS = [(each, True) for each in LANGUAGES] + [("en", False)] if extent.ALL else [("de", True)]


class Supporter(Member):
    """A member of ``authsite:support`` at the console, who looks at each page that they open."""

    def __init__(self, context, mailbox, language, script):
        super().__init__(context, mailbox)
        self.language, self.words, self.script = language, words_of(language), script
        self.user, self.faults, self.mistaken = "", {}, False

    def look(self):
        """Note what is wrong with the page, in a narrow and in a wide window."""
        path = self.page.url.removeprefix(self.origin)
        assert self.page.locator("html").get_attribute("lang") == self.language
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": 800})
            found = self.page.evaluate(CUT)
            if self.script:  # axe needs it
                found += violations(self.page, axe=WHOLE if width == WIDTHS[0] else AGAIN)
            if found:
                self.faults[path, width] = found
        if self.script:
            self.page.emulate_media(color_scheme="dark")
            if found := violations(self.page, CONTRAST, axe=AGAIN):
                self.faults[path, "dark"] = found
            self.page.emulate_media(color_scheme="light")

    def visit(self, path):
        """Open a page of the console, and look at it."""
        answer = self.go(f"/admin{path}")
        self.look()
        return answer

    def find(self, half, email):
        """Find a user by the first half of the address, and open the page of that user."""
        first = not self.user
        self.go("/admin")
        if first:
            self.look()
        self.page.locator("[name=q]").fill(half)
        self.page.locator("form.search button").click()
        self.at("/admin/users")
        if first:
            self.look()
        self.page.locator("table a", has_text=email).click()
        self.at("/admin/users/[0-9a-f-]+")
        self.user = self.page.url.removeprefix(self.origin)
        self.look()

    def act(self, action, said, *, reason=None):
        """Follow the link to an action, look, and press its button; the page says ``said``."""
        self.go(self.user)
        self.page.locator(f"main a[href*='{self.user}/{action}']").first.click()
        self.at(f"{self.user}/{action}.*")
        self.look()
        path = self.page.url.removeprefix(self.origin)
        if reason:
            assert self._press(path) == 422  # without a reason
            if not self.mistaken:
                self.look()
            self.mistaken = True
            self.page.locator("[name=reason]").fill(reason)
        assert self._press(path) == 303
        self.at(self.user)
        self.sees(self.words(said))

    def _press(self, path):
        with self.page.expect_response(
            lambda answer: answer.request.method == "POST" and answer.url.endswith(path)
        ) as answered:
            self.page.locator("main form:has([name=reason]) button").first.click()
        return answered.value.status

    def text(self, id_):
        """What a section of the page says."""
        return self.page.locator(f"section[aria-labelledby={id_}]").inner_text()


@pytest.fixture
def people(world, watch):
    """People who call: one is locked out, one disabled, one not confirmed."""
    start = f"call-{uuid4().hex[:8]}"
    crowd = Passersby(world, Mailbox(watch, world.mailbox, AUTH))
    locked, disabled, new = (f"{start}-{each}@example.com" for each in ("ann", "bo", "cy"))
    for email in (locked, disabled):
        crowd.register(email)
        crowd.confirm(email)
        crowd.add_app(email)
    crowd.register(new)
    token = crowd.sign_in(locked, second=True)
    crowd.command("user", "disable", disabled)
    crowd.lock_out(locked)
    return SimpleNamespace(
        crowd=crowd, start=start, locked=locked, disabled=disabled, new=new, token=token
    )


@pytest.fixture
def tess(new_context, people, request):
    """A member of ``authsite:support``, signed in with a second factor."""
    language, script = request.param
    context = new_context(locale=language, java_script_enabled=script, statuses=(422, 403))
    tess = Supporter(context, people.crowd.mailbox, language, script)
    tess.new_account()
    tess.add_app()
    people.crowd.command("admin", "grant", tess.email, "support")
    tess.sign_out()
    tess.go("/admin")
    tess.at("/login")
    tess.sign_in(tess.email, people.crowd.password)
    tess.at("/login/factor")
    tess.send("/login/factor", code=tess.code())
    tess.at("/admin")
    return tess


@pytest.mark.control("X07")
@pytest.mark.parametrize("tess", WALKS, indirect=True, ids=lambda each: "-".join(map(str, each)))
def test_a_day_of_support(tess, people):
    the_locked_one(tess, people)
    the_trail(tess, people)
    the_disabled_one(tess, people)
    the_new_one(tess, people)
    for place in ("/mail", "/health", "/groups", "/clients"):
        assert tess.visit(place).status == 200
    people.crowd.command("admin", "grant", tess.email, "security", "--reason", "on call")
    the_evening(tess, people)
    assert tess.faults == {}


def the_locked_one(tess, people):
    """“It says: too many attempts”, and a lost phone: limits, sign-ins, links, factors."""
    crowd, email = people.crowd, people.locked
    tess.find(people.start, email)
    assert tess.words("Too many attempts") in tess.page.locator(".person").inner_text()
    assert "login-account" in tess.text("limits")
    assert crowd.try_sign_in(email) == 429
    tess.act("lift-limits", "The limits are lifted.", reason="called, and knew the last invoice")
    assert tess.words("Too many attempts") not in tess.page.locator(".person").inner_text()
    assert crowd.try_sign_in(email) == 400  # the second factor is asked for
    tess.act("sessions/", "The sign-in is ended.")
    assert not crowd.is_signed_in(people.token)
    token = crowd.sign_in(email, second=True)
    tess.act("sign-out", "All sign-ins are ended.")
    assert not crowd.is_signed_in(token)
    tess.act("reset-password", "The link to reset the password is on the way.")
    assert crowd.mailbox.link(email, "/password/reset/")
    tess.act("reset-factors", "The second factors are removed.", reason="lost phone <b>#7</b>")
    assert crowd.try_sign_in(email) == 200  # the password alone


def the_trail(tess, people):
    """Who did it, and why; and what happened in one request."""
    assert tess.visit(f"/audit?user={people.locked}").status == 200
    rows = tess.page.locator("tbody tr", has_text="limit.lifted").all_inner_texts()
    assert len(rows) == 1
    assert tess.email in rows[0]
    assert "knew the last invoice" in rows[0]
    row = tess.page.locator("tbody tr", has_text="lost phone <b>#7</b>").first
    row.locator("a[href*='/explain/']").click()
    tess.page.locator("table").wait_for()
    tess.look()
    assert tess.email in tess.page.locator("main").inner_text()


def the_disabled_one(tess, people):
    """Support sees why, removes the app, and may not enable."""
    tess.find(people.start, people.disabled)
    assert tess.words("Disabled") in tess.page.locator(".person").inner_text()
    assert tess.page.locator(f"a[href='{tess.user}/enable']").count() == 0
    assert tess.go(f"{tess.user}/enable").status == 403
    tess.act("factors/", "The second factor is removed.", reason="sold the phone")
    assert tess.page.locator("section[aria-labelledby=factors] table").count() == 0


def the_new_one(tess, people):
    """The link did not arrive: sent again."""
    tess.find(people.start, people.new)
    assert tess.words("Not confirmed") in tess.page.locator(".person").inner_text()
    tess.act("send-verification", "The link to confirm the address is on the way.")
    assert people.crowd.mailbox.link(people.new, "/email/verify/")


def the_evening(tess, people):
    """Tess is now in ``authsite:security``, too: she marks as confirmed, and enables."""
    tess.act("confirm", "The address is marked as confirmed.", reason="came to the desk")
    tess.find(people.start, people.disabled)
    tess.act("enable", "The user is enabled.")
    assert people.crowd.try_sign_in(people.disabled) == 200
    tess.act("disable", "The user is disabled.", reason="asked for it")
    for place in ("/settings", "/invitations"):
        assert tess.visit(place).status == 200
