"""An administrator acts at a user on the pages, and what that leaves behind."""

from sqlalchemy import select, update

from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.support.pages import csrf_of

ANN = "ann@example.com"


def path_of(user, action=""):
    return f"/admin/users/{user.id}" + (f"/{action}" if action else "")


def act(site, user, action, status=303, **fields):
    """Open the confirming page, and press its button."""
    path = path_of(user, action)
    token = csrf_of(site.http.get(path, status=200))
    return site.http.post(path, {"csrf_token": token, **fields}, status=status)


def stored(site, user):
    with site.db() as db:
        return db.get(User, user.id)


def last_event(site, name):
    with site.db() as db:
        query = select(AuditEvent).where(AuditEvent.event == name).order_by(AuditEvent.id.desc())
        return db.scalars(query).first()


def sign_in_was(site, ago):
    """Let the administrator's sign-in be older."""
    with site.db() as db:
        moment = clock.now() - ago
        db.execute(update(BrowserSession).values(auth_at=moment))
    site.app.registry["authsite"].database.dispose()
