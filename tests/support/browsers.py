"""Debian's Chromium, driven by Playwright, and what lets it find and trust the servers here."""

import os
import shutil
import subprocess
from contextlib import contextmanager

import pytest

from tests.conftest import need
from tests.support import extent

WHOLE = "/usr/bin/chromium"

# The same engine without a window's parts, for a third of the processor time. In a whole run the
# whole browser is used for the journeys behind TLS (tests/system/test_journey.py), forward auth and
# the guides.
PROGRAM = shutil.which("chromium-headless-shell") or WHOLE
AS_PEOPLE_HAVE_IT = WHOLE if extent.ALL else PROGRAM

_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def playwright():
    """Playwright, which starts browsers; a process has room for one at a time."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as running:
        yield running


@contextmanager
def chromium(playwright, home=None, authority=None, *, front=None, program=PROGRAM):
    """A running browser.

    With ``authority``, which it trusts, its home folder is ``home``. With ``front`` (a `Front`) all
    names lead there; without, those of ``example.test`` lead to this machine.
    """
    need(shutil.which(program), "Chromium")
    environ = dict(os.environ)
    if authority:
        environ["HOME"] = str(_trusting(home, authority))
    rules = ["MAP *.example.test 127.0.0.1"]
    if front:
        rules = [f"MAP *:443 127.0.0.1:{front.tls}", f"MAP *:80 127.0.0.1:{front.plain}"]
    flags = [*_FLAGS, f"--host-resolver-rules={', '.join(rules)}"]
    browser = playwright.chromium.launch(executable_path=program, args=flags, env=environ)
    try:
        yield browser
    finally:
        browser.close()


def _trusting(home, authority):
    """``home`` as a folder in which Chromium finds ``authority`` among the trusted ones (NSS)."""
    need(shutil.which("certutil"), "certutil (libnss3-tools)")
    store = home / ".pki" / "nssdb"
    if not store.exists():
        store.mkdir(parents=True)
        certutil = ["certutil", "-d", f"sql:{store}"]
        subprocess.run([*certutil, "-N", "--empty-password"], check=True)
        add = ["-A", "-t", "C,,", "-n", "authsite tests", "-i", authority.path]
        subprocess.run([*certutil, *add], check=True)
    return home


@contextmanager
def profiles(browser, seconds=60):
    """A factory of empty profiles of a browser, which wait so long and are closed at the end."""
    made = []

    def new(**options):
        # Without the transitions between pages: nothing can be clicked during one, and one that the
        # next page ends would be an error of the browser.
        made.append(browser.new_context(**{"reduced_motion": "reduce", **options}))
        made[-1].set_default_timeout(seconds * 1000)
        return made[-1]

    yield new
    for context in made:
        context.close()
