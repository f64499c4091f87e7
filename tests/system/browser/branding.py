"""The pictures of docs/branding.md: ``make pictures`` writes them into docs/pictures.

The branded pages have the settings and files of examples/branding.
"""

import sys
import tempfile
from pathlib import Path

from authsite.settings import read_ini
from tests.system.browser.people import pages_server

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples/branding"
OURS = ("site-", "accent-", "static-", "templates-", "support-", "terms-", "footer-")
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
    """The login page plain and branded, and the branded registration in dark."""
    from playwright.sync_api import sync_playwright

    from tests.system.browser.conftest import CHROMIUM

    folder.mkdir(parents=True, exist_ok=True)
    branded = example_settings()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**CHROMIUM)
        for settings, path, scheme, name in (
            ({}, "/login", "light", "login-plain"),
            (branded, "/login", "light", "login-branded"),
            (branded, "/register", "dark", "register-branded"),
        ):
            with (
                tempfile.TemporaryDirectory() as place,
                pages_server(Path(place), **settings) as (origin, _box),
            ):
                context = browser.new_context(color_scheme=scheme, viewport=SIZE)
                page = context.new_page()
                page.goto(origin + path)
                page.evaluate("document.activeElement.blur()")
                page.screenshot(path=folder / f"{name}.png", full_page=True)
                context.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/pictures")
