"""Markup in whatever users and administrators type is text on every page of the console."""

from sqlalchemy import update

from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.support import administrators
from tests.support.pages import csrf_of

MARKUP = "\"><img src=x onerror=alert(1)>{{ 7*7 }}'"


def test_nothing_that_was_typed_is_markup(site):
    root = administrators.signed_in(site, "owner")
    ann = site.user("ann@example.com", confirmed=True, name=MARKUP)
    site.client(name=MARKUP)
    with site.db() as db:
        db.execute(update(BrowserSession).values(agent=MARKUP))
        db.execute(update(User).where(User.id == root.id).values(name=MARKUP))

    def send(path, **fields):
        token = csrf_of(site.http.get(path, status=200))
        return site.http.post(path, {"csrf_token": token, **fields}, status="*")

    agent = {"User-Agent": MARKUP}
    site.http.get("/admin", headers=agent)
    assert send(f"/admin/users/{ann.id}/disable", reason=MARKUP).status_int == 303
    assert send("/admin/new-group", name="ops", title=MARKUP).status_int == 303
    pages = [
        "/admin", "/admin/users", f"/admin/users/{ann.id}", f"/admin/users/{root.id}",
        "/admin/users?q=" + "%22%3E%3Cimg", "/admin/groups", "/admin/groups/ops",
        "/admin/clients", "/admin/audit", "/admin/mail", "/admin/invitations",
    ]  # fmt: skip
    shown = 0
    for path in pages:
        page = site.http.get(path, status=200)
        assert "<img" not in page.text, path
        assert "{{" not in page.text or MARKUP in page.html.get_text(), path
        shown += MARKUP in page.html.get_text()
    assert shown >= 5
