"""Calls of /v1/admin/users, and what they leave behind."""

from sqlalchemy import select

from authsite.platform.audit.models import AuditEvent
from authsite.users.models import User

USERS = "/v1/admin/users"
ALL = "admin:users:write admin:sessions:write admin:mail:write admin:limits:write"
ALL += " admin:factors:write admin:audit:read admin:exports:read"
WHY = {"reason": "asked for by phone"}


def path(user, what=""):
    return f"{USERS}/{user.id}{what}"


def events(site, user, event):
    with site.db() as db:
        query = select(AuditEvent.details).filter_by(user_id=user.id, event=event)
        return list(db.scalars(query.order_by(AuditEvent.id)))


def row(site, user):
    with site.db() as db:
        return db.get(User, user.id)


def act(site, headers, user, what, body=WHY, status=200):
    return site.http.post_json(path(user, f"/{what}"), body, headers=headers, status=status).json


def subjects(site):
    return [mail["Subject"] for mail in site.mails()]
