"""Every page in every state worth a look: for axe, and for ``make screenshots`` to look at.

``python -m tests.system.browser.gallery [FOLDER] [LANGUAGE]`` writes pictures of all of them, by
default into var/screenshots; the language ``ar`` is a pseudo-locale from right to left.
"""

import itertools
import sys
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.support import browsers
from tests.support.languages import PSEUDO, pseudo_package, words_of
from tests.system.browser import gallery_tokens
from tests.system.browser.gallery_applications import ADDRESS, Applications, on_the_way
from tests.system.browser.gallery_changes import EMAIL, changed_address, pending
from tests.system.browser.gallery_factors import required, second_factors
from tests.system.browser.people import PASSWORD, Person, pages_server

WIDTHS = (360, 1280)
# Buttons whose text is wider than they are, labels and cells with a letter in each line, and
# whatever makes the page scroll sideways.
CUT = """[
  ...[...document.querySelectorAll('label, th, td, dt, dd')]
    .filter((each) => each.offsetHeight > Math.max(160, 5 * each.offsetWidth))
    .map((each) => each.innerText),
  ...[...document.querySelectorAll('button, .button, summary')]
    .filter((each) => each.scrollWidth > each.clientWidth + 1)
    .map((each) => each.innerText),
  ...(document.documentElement.scrollWidth > innerWidth ? ['the page'] : []),
]"""
ELSEWHERE = "https://app.example.test"
SETTINGS = {
    "email_revert_min_age": "0s",
    # A sign-in from another address, of which its owner learns.
    "limits": "on",
    "trusted_proxies": "127.0.0.1",
    "return_origins": ELSEWHERE,
    "email_sign_in": "on",
    "admin_console": "on",
    "personal_token_scopes": "reports:read reports:write",
    "scopes": "\n    reports:read: Read reports\n    reports:write: Change reports",
}


REQUIRED = {**SETTINGS, "second_factor": "required"}
LATER = {**REQUIRED, "second_factor_from": "2099-01-31"}  # a notice on the account pages


def visitor(context, served, words=str):
    """A person at a server; not at 127.0.0.1, where no passkey can be."""
    origin, box = served
    origin = origin.replace("127.0.0.1", "localhost")
    return Person(context, origin, box, ELSEWHERE, words=words)


def _login_mistake(ann):
    ann.sign_in("not the password 1", EMAIL)
    ann.sees("is incorrect")


def _register_mistakes(ann):
    ann.go("/register")
    ann.fill(email="ann at example", password="password")
    ann.press("Create account")
    ann.page.locator("[aria-invalid=true]").first.wait_for()


def _forgot_sent(ann):
    ann.go("/password/forgot")
    ann.fill(email="nobody@example.com")
    ann.press("Send the link")
    ann.at("/password/forgot")


def _reset(ann):
    ann.go("/password/forgot")
    ann.fill(email=EMAIL)
    ann.press("Send the link")
    ann.page.goto(ann.link("reset"))


def _reset_mistakes(ann):
    ann.fill(password="password1")
    ann.press("Change password")
    ann.page.locator("[aria-invalid=true], .summary").first.wait_for()


def _account_mistake(ann):
    ann.go("/account/security")
    ann.change("Password")
    form = ann.page.locator("form[action$='/account/password']")
    form.locator("[name=current_password]").fill("wrong wrong wrong 1")
    form.locator("[name=password]").fill("password")
    ann.press("Change password")
    ann.page.locator("[aria-invalid=true]").first.wait_for()


def _password_form(ann):
    ann.go("/account/security")
    ann.change("Password")


def _form(what) -> Callable[[Person], None]:
    def visit(ann):
        ann.go("/account")
        ann.change(what)

    return visit


def _deletion(ann):
    ann.go("/account")
    ann.open("Delete account…")


def _leaving(ann):
    # 204: the browser stays on the page that leads there.
    ann.page.context.route(f"{ELSEWHERE}/*", lambda route: route.fulfill(status=204))
    ann.go(f"/login?next={ELSEWHERE}/reports")
    ann.fill(username=EMAIL, password=PASSWORD)
    with ann.led_to(ELSEWHERE):
        ann.press("Sign in")
    ann.page.get_by_role("heading", name=ann.words("You are signed in")).wait_for()


def _at(path) -> Callable[[Person], None]:
    return lambda ann: ann.go(path)


STRANGER = {
    "home-deleted": _at("/?done=deleted"),
    "login": _at("/login"),
    "login-next": _at("/login?next=/account"),
    "login-unsaved": _at("/login?next=/account&unsaved=1"),
    "login-mistake": _login_mistake,
    "register": _at("/register"),
    "register-mistakes": _register_mistakes,
    "register-done": _at("/register?done=1"),
    "forgot": _at("/password/forgot"),
    "forgot-sent": _forgot_sent,
    "link": _at("/email/link"),
    "reset-dead": _at(f"/password/reset?email={EMAIL}&token={'x' * 64}"),
    "reset-done": _at("/password/reset?done=1"),
    "verify-invalid": _at("/email/verify?url=x"),
    "cancel-change-invalid": _at("/email/change/cancel?token=x"),
    "revert-change-invalid": _at("/email/change/revert?token=x"),
    "not-me-invalid": _at("/login/not-me?token=x"),
    "not-found": _at("/nowhere"),
    "home-signed-out": _at("/?done=signed-out"),
    "logout-signed-out": _at("/logout"),
    "app": _at("/app"),
}
CONFIRMED = {
    "reset": _reset,
    "reset-mistakes": _reset_mistakes,
}
SIGNED_IN = {
    "logout": _at("/logout"),
    "account": _at("/account"),
    "account-pending": pending,
    "account-saved": _at("/account?done=profile"),
    "account-mistake": _account_mistake,
    "account-token-mistake": gallery_tokens.mistake,
    "account-token-created": gallery_tokens.created,
    "account-tokens": _at("/account/access?done=token"),
    "account-token-form": gallery_tokens.form_open,
    "account-security": _at("/account/security"),
    "account-password": _password_form,
    "account-activity": _at("/account/activity"),
    "account-export": _form("Your data"),
    "account-delete": _deletion,
    "account-email": _form("E-mail address"),
    "account-language": _form("Language"),
    "dev-mail": _at("/dev/mail"),
}


def gallery(ann):
    """Bring every state onto the person's page; yields its name each time.

    Without /docs, which test_docs.py examines: it is in English alone, and its size would take
    more time than all others.
    """
    for name, visit in STRANGER.items():
        visit(ann)
        yield name
    ann.go("/register")
    ann.fill(email=EMAIL, password=PASSWORD)
    ann.press("Create account")
    ann.at("/register")
    yield "registered"
    ann.sign_in(PASSWORD, EMAIL)
    ann.at("/account")
    ann.go("/email/link")
    yield "link-signed-in"
    ann.press("Send the link")
    ann.page.locator(".emblem.mail").wait_for()
    yield "link-signed-in-sent"
    ann.page.context.clear_cookies()
    ann.page.goto(ann.link())
    yield "verify"
    ann.press("Confirm address")
    ann.sees("Your address is confirmed")
    yield "verify-done"
    for name, visit in CONFIRMED.items():
        visit(ann)
        yield name
    _leaving(ann)
    yield "continue"
    for name, visit in SIGNED_IN.items():
        visit(ann)
        yield name
    yield from second_factors(ann, EMAIL)
    yield from changed_address(ann)


def pictured(ann):
    """Every state, and /docs."""
    yield from gallery(ann)
    ann.go("/docs")
    ann.page.locator(".opblock").first.wait_for()
    yield "docs"


@contextmanager
def served_with(states, settings, folder, variables=()):
    """A server, and the states of a person there: ``(served, person -> names)``."""
    with pages_server(folder, variables, **settings) as served:
        yield served, states


@contextmanager
def applications_server(folder, variables=()):
    """The same, for `on_the_way`."""
    apps = []

    def prepare(site):
        apps.append(Applications(site))

    with pages_server(folder, {**dict(variables), **ADDRESS}, prepare, **LATER) as served:
        yield served, lambda ann: on_the_way(ann, *apps)


SERVERS = (
    partial(served_with, pictured, SETTINGS),
    partial(served_with, required, REQUIRED),
    applications_server,
)


def main(folder, language="en"):
    """Pictures of everything, light and dark, narrow and wide."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        browsers.playwright() as playwright,
        browsers.chromium(playwright, program=browsers.WHOLE) as browser,
    ):
        for server in SERVERS:
            _picture(browser, folder, language, server)
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder}")


def _picture(browser, folder, language, server):
    with (
        tempfile.TemporaryDirectory() as place,
        server(Path(place), _variables(place, language)) as (served, states),
    ):
        context = browser.new_context(locale=language, reduced_motion="reduce")
        ann = visitor(context, served, words_of(language))
        for name in states(ann):
            for width, scheme in itertools.product(WIDTHS, ("light", "dark")):
                ann.page.set_viewport_size({"width": width, "height": 800})
                ann.page.emulate_media(color_scheme=scheme)
                ann.page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)


def _variables(place, language):
    return pseudo_package(Path(place, "package")) if language == PSEUDO else {}


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "var/screenshots"), *sys.argv[2:])
