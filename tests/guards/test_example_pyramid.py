"""examples/pyramid: an application with its own policy and session, through its own factory."""

import sys
from pathlib import Path

import pytest
from pyramid.interfaces import IRootFactory, ISecurityPolicy, ISessionFactory
from webtest import TestApp

from tests.support.pages import csrf_of
from tests.support.site import PASSWORD, SECRET, Site, bearer

EXAMPLE = Path(__file__).parents[2] / "examples" / "pyramid"
ANN = "ann@example.com"


class Notes(Site):
    """`Site` for the example, whose authsite is below a prefix."""

    prefix = "/auth"

    def __init__(self, main, url, folder):
        settings = {
            "notes.database-url": f"sqlite:///{folder}/notes.sqlite",
            "notes.cookie-secret": "a secret of the test alone",
            "authsite.secret": SECRET,
            "authsite.database-url": url,
            "authsite.bcrypt-cost": "10",
            "authsite.limits": "off",
            "authsite.scopes": "notes:read: Read your notes",
        }
        self.app = main({"__file__": str(folder / "notes.ini")}, **settings)
        self.cfg = self.app.registry["authsite"].settings
        self.database = self.app.registry["authsite"].database
        self.http = TestApp(self.app)

    def token(self, keys, status=200, **form):
        return self.http.post("/auth/v1/oauth/token", keys.form(**form), status=status)


@pytest.fixture
def notes(database_url, tmp_path, monkeypatch):
    from tests.support import databases

    monkeypatch.syspath_prepend(EXAMPLE)
    from notes import main

    site = Notes(main, database_url, tmp_path)
    databases.empty(site.database)
    yield site
    site.database.dispose()
    for name in [name for name in sys.modules if name.split(".")[0] == "notes"]:
        del sys.modules[name]


def sign_in(site, answer):
    """Fill in the login form to which ``answer`` redirects; the page that was asked for."""
    form = answer.follow().forms[0]
    form["username"], form["password"] = ANN, PASSWORD
    return form.submit(status=303).follow(status=200)


def test_a_note_is_written_read_and_deleted_after_a_recent_login(notes, frozen):
    notes.user(confirmed=True)
    assert "Signed in" not in notes.http.get("/").text
    page = sign_in(notes, notes.http.get("/notes", status=302))
    assert f"Notes of {ANN}" in page.text
    assert f"Signed in as {ANN}" in notes.http.get("/").text
    form = page.forms["add"]
    form["text"] = "<b>milk</b>"
    page = form.submit(status=303).follow()
    assert "<li>&lt;b&gt;milk&lt;/b&gt;</li>" in page.text

    frozen.advance(600)
    form = notes.http.get("/notes/delete", status=302).follow(status=200).forms["factor"]
    form["current_password"] = PASSWORD
    page = form.submit(status=303).follow(status=200)
    page = page.forms[0].submit(status=303).follow()
    assert "Your notes are deleted." in page.text
    assert "milk" not in page.text

    page.forms["sign-out"].submit(status=303)
    notes.http.get("/notes", status=302)


def test_an_address_that_is_not_confirmed_is_no_name(notes):
    ann = notes.user()
    page = sign_in(notes, notes.http.get("/notes", status=302))
    assert f"Notes of {ann.id}" in page.text
    assert ANN not in page.text


def test_the_api_needs_a_token_with_the_scope(notes):
    notes.user()
    scoped = notes.client(scope="notes:read", default_scope="notes:read")
    token = notes.login(scoped)["access_token"]
    assert notes.http.get("/api/notes", headers=bearer(token)).json == {"notes": []}
    plain = notes.login(notes.client(name="plain"))["access_token"]
    notes.http.get("/api/notes", headers=bearer(plain), status=403)
    notes.http.get("/api/notes", status=401)


def test_the_renderer_of_the_application_has_its_own_types(notes):
    notes.user()
    page = sign_in(notes, notes.http.get("/notes", status=302))
    page.forms["add"]["text"] = "milk"
    page.forms["add"].submit(status=303)
    keys = notes.client(scope="notes:read", default_scope="notes:read")
    token = notes.login(keys)["access_token"]
    [note] = notes.http.get("/api/notes", headers=bearer(token)).json["notes"]
    assert note["text"] == "milk"
    assert "T" in note["written_at"]


def test_loading_the_application_leaves_no_connection_open(notes):
    """A server may fork its processes after that, and they cannot share a connection."""
    assert notes.app.registry["notes.engine"].pool.checkedin() == 0


def test_what_the_application_registered_is_its_own(notes):
    registry = notes.app.registry
    for interface in (ISecurityPolicy, IRootFactory):
        utility = registry.getUtility(interface)
        assert (
            getattr(utility, "__module__", None) or type(utility).__module__
        ) == "notes.security"
    assert registry.getUtility(ISessionFactory).__module__ == "pyramid.session"
    notes.http.post("/notes", {"text": "milk"}, status=302)  # the guard, before the CSRF check
    notes.user()
    page = sign_in(notes, notes.http.get("/notes", status=302))
    assert csrf_of(page)
    notes.http.post("/notes", {"text": "milk"}, status=400)  # the application's own CSRF check
