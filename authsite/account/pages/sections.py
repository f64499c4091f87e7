"""The sections of this package, and what their templates read."""

from typing import Any

from authsite.account import active_sessions, activity, service
from authsite.platform.i18n import own_name
from authsite.platform.mail.outbox import Recipient
from authsite.platform.request_state import Request
from authsite.sign_in.fields import address_hint
from authsite.users import former, pending
from authsite.users.account_pages import AccountSection, values_of_deletion
from authsite.users.caller import caller_of
from authsite.verification.mails import has_link

TEMPLATES = "authsite:templates/account/"


def email(request: Request) -> dict[str, Any]:
    """The pending change of address, and whether a link to confirm the present one was mailed."""
    ctx, user = request.authsite.ctx, caller_of(request).acting_user()
    change = pending.find(ctx.db, user.id)
    waits = change is None and not user.confirmed
    return {
        "pending_email": change and change.email,
        "pending_by_link": change is not None and change.by_link,
        "restorable": former.list_first(ctx.db, user.id),
        "address_hint": address_hint(request.authsite.settings),
        "link_sent": waits and has_link(ctx.db, Recipient(user.id, user.email)),
    }


def language(request: Request) -> dict[str, Any]:
    """The language of the user's mails, and those to choose from."""
    offered = request.authsite.settings.languages
    return {
        "mail_language": service.language_of(
            request.authsite.ctx, caller_of(request).acting_user().id
        ),
        "offered_languages": [(each, own_name(each)) for each in offered],
    }


def sessions(request: Request) -> dict[str, Any]:
    """Where the user is signed in."""
    caller = caller_of(request)
    found, more = active_sessions.list_active(
        request.authsite.ctx, caller.acting_user().id, caller.session_uuid
    )
    return {"sessions": found, "more_sessions": more}


def latest_events(request: Request) -> dict[str, Any]:
    """The latest events of the account, and the latest failed attempts."""
    found = activity.list_latest(request.authsite.ctx, caller_of(request).acting_user().id)
    return {"events": found, "by_day": activity.by_day}


SECTIONS = (
    AccountSection("profile", f"{TEMPLATES}profile.jinja2", "account"),
    AccountSection("email", f"{TEMPLATES}email.jinja2", "account", email),
    AccountSection("language", f"{TEMPLATES}language.jinja2", "account", language),
    AccountSection("export", f"{TEMPLATES}export.jinja2", "account"),
    AccountSection("delete", f"{TEMPLATES}delete.jinja2", "account", values_of_deletion),
    AccountSection("password", f"{TEMPLATES}password.jinja2", "account.security"),
    AccountSection(
        "sessions",
        f"{TEMPLATES}sessions.jinja2",
        "account.security",
        sessions,
        deleted=f"{TEMPLATES}deleted_sessions.jinja2",
    ),
    AccountSection("activity", f"{TEMPLATES}activity.jinja2", "account.security", latest_events),
)
"""The sections of this package, page by page."""
