"""What the templates of the sections read: for each section a function of the request."""

from typing import Any

from authsite.account import active_sessions, activity, service
from authsite.guards.caller import caller_of
from authsite.i18n import own_name
from authsite.login.fields import address_hint
from authsite.mail.outbox import Recipient
from authsite.personal_tokens import service as personal_tokens
from authsite.request_state import Request
from authsite.users import former, pending
from authsite.users.groups import bound
from authsite.verification.mails import has_link


def nothing(_request: Request) -> dict[str, Any]:
    """For a section that needs no more than the page."""
    return {}


def email(request: Request) -> dict[str, Any]:
    """The pending change of address, and whether a link to confirm the present one was mailed."""
    ctx, user = request.authsite.ctx, caller_of(request).acting_user()
    change = pending.find(ctx.db, user.id)
    waits = change is None and not user.confirmed
    return {
        "pending_email": change and change.email,
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
    return {"events": found}


def tokens(request: Request) -> dict[str, Any]:
    """The personal access tokens; ``new_token`` is the text of one that was just created."""
    ctx, user_id = request.authsite.ctx, caller_of(request).acting_user().id
    scopes = bound.held(ctx, user_id, " ".join(ctx.settings.personal_token_scopes)).split()
    found = personal_tokens.list_active(ctx, user_id)
    return {"tokens": found, "new_token": None, "token_scopes": scopes}


def deletion(request: Request) -> dict[str, Any]:
    """What is deleted with the account."""
    return {**sessions(request), **tokens(request)}
