"""The pages of the console, for the gallery: seen by an owner who is signed in with a factor."""

import re

from tests.support import servers
from tests.support.site import PASSWORD

BO = "bo@another-rather-long-name.example.org"


def _open(path):
    return lambda ann: ann.go(f"/admin{path}")


def _follow(path, part):
    """Open a page, and follow the first link of its tables whose target matches ``part``."""

    def visit(ann):
        ann.go(f"/admin{path}")
        links = ann.page.locator("main table a, main .actions a").all()
        targets = [each.get_attribute("href") for each in links]
        ann.page.goto(ann.origin + next(each for each in targets if re.search(part, each)))

    return visit


def _mistakes(ann):
    _follow("/users?q=bo@", "/users/")(ann)
    ann.page.goto(f"{ann.page.url}/delete")
    ann.page.locator("form:has([name=reason]) button").click()
    ann.page.locator("[aria-invalid=true]").first.wait_for()


STATES = {
    "console": _open(""),
    "console-users": _open("/users?disabled=false"),
    "console-user": _follow("/users?q=bo@", "/users/"),
    "console-delete": _mistakes,
    "console-groups": _open("/groups"),
    "console-group": _open("/groups/authsite:support"),
    "console-clients": _open("/clients"),
    "console-client": _follow("/clients", "/clients/(?!new)"),
    "console-new-client": _open("/clients/new"),
    "console-invitations": _open("/invitations"),
    "console-audit": _open("/audit"),
    "console-explain": _follow("/audit", "/explain/"),
    "console-mail": _open("/mail"),
    "console-health": _open("/health"),
    "console-settings": _open("/settings"),
}


def console(ann, email):
    """Ann becomes an owner; Bo is a user with a second factor, or with anything else."""
    [ini] = ann.box.parent.glob("site-*.ini")
    for words, text in (
        (("user", "create", "--email", BO, "--confirmed", "--password-stdin"), f"{PASSWORD}\n"),
        (("user", "disable", BO), None),
        (("admin", "grant", email, "owner"), None),
    ):
        done = servers.authsite(*words, ini=ini, stdin=text)
        assert done.returncode == 0, done.stderr
    for name, visit in STATES.items():
        visit(ann)
        yield name
    ann.go("/account/security")
