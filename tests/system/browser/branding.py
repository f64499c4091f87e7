"""The pictures of README.md and docs/branding.md: ``make pictures`` writes them to docs/pictures.

The branded pages have the settings and files of examples/branding.
"""

import sys
import tempfile
from pathlib import Path

from authsite.platform.settings import read_ini
from tests.support import browsers
from tests.system.browser.people import EMAIL, PASSWORD, pages_server

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples/branding"
OURS = (
    "site-",
    "accent-",
    "corner-",
    "font",
    "static-",
    "templates-",
    "support-",
    "terms-",
    "footer-",
)
SIZE = {"width": 720, "height": 620}


def example_settings():
    """The branding in the example's ini, with absolute paths, for `write_ini`."""
    found = {}
    for key, value in read_ini(EXAMPLE / "branding.ini").items():
        name = key.removeprefix("authsite.")
        if name.startswith(OURS):
            path = EXAMPLE / value if name.endswith("-folder") else value
            found[name.replace("-", "_")] = str(path).replace("\n", "\n    ")
    return found


def main(folder):
    """The login page plain and branded, the branded registration in dark, and the account page."""
    folder.mkdir(parents=True, exist_ok=True)
    branded = example_settings()
    with (
        browsers.playwright() as playwright,
        browsers.chromium(playwright, program=browsers.WHOLE) as browser,
    ):
        for settings, path, scheme, name in (
            ({}, "/login", "light", "login-plain"),
            (branded, "/login", "light", "login-branded"),
            (branded, "/register", "dark", "register-branded"),
            ({}, "/account", "light", "account"),
        ):
            with (
                tempfile.TemporaryDirectory() as place,
                pages_server(Path(place), **settings) as (origin, _box),
            ):
                context = browser.new_context(color_scheme=scheme, viewport=SIZE)
                page = context.new_page()
                if path == "/account":
                    log_in(page, origin)
                page.goto(origin + path)
                page.evaluate("document.activeElement.blur()")
                page.screenshot(path=folder / f"{name}.png", full_page=path != "/account")
                context.close()


def log_in(page, origin):
    """Register a user, and log in with the form."""
    form = {"email": EMAIL, "password": PASSWORD, "name": "Ann"}
    assert page.request.post(f"{origin}/v1/register", form=form).ok
    page.goto(f"{origin}/login")
    page.fill("[name=username]", EMAIL)
    page.fill("[name=password]", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: not url.endswith("/login"))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/pictures")
