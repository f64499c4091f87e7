"""What the confirming pages of users have in common."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal
from uuid import UUID

from pyramid.i18n import TranslationString
from pyramid.response import Response

from authsite.admin import confirming
from authsite.admin.confirming import NO_NOTICE, Confirmation
from authsite.admin.errors import UnknownObject
from authsite.admin.guard import Administrator, administrator_of, require_rank, reserved_groups
from authsite.admin.users import actions, detail
from authsite.oauth.clients.fields import administering_clients
from authsite.platform.addresses import shown
from authsite.platform.context import Context
from authsite.platform.http.address import route_path
from authsite.platform.i18n import _
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_id
from authsite.users.groups.labels import OWNER
from authsite.users.models import User

Notice = Literal["user", "anyone", "address", "none", "link"]
_USER = _("${user} gets an e-mail about this.")
_KNOWN_CLIENTS = _(
    "Clients with permissions of administrators stay, and an owner may know their secrets. Give"
    " each a new secret, or disable it. Number: ${number}"
)
Values = Callable[[Request, User], Mapping[str, Any]]


def user_of(request: Request) -> User:
    """The user whose page this is. Raises `UnknownObject`."""
    return detail.find(request.authsite.ctx, request.matchdict["id"])


def acting(request: Request) -> tuple[Context, Administrator, User]:
    """What each action begins with. Raises `UnknownObject`."""
    return request.authsite.ctx, administrator_of(request), user_of(request)


def mailing(request: Request) -> tuple[Context, Administrator, User]:
    """`acting` for an action that mails the user, which is counted before the transaction begins.

    Raises `UnknownObject` and `TooManyAttempts`.
    """
    actions.count_mail(request.authsite.ctx, administrator_of(request))
    return acting(request)


def noticed(request: Request) -> tuple[Context, Administrator, User]:
    """`acting` for an action that can be done again and again, of which the user is told.

    Raises `UnknownObject` and `TooManyAttempts`.
    """
    by = administrator_of(request)
    actions.count_notice(request.authsite.ctx, by, request.matchdict["id"])
    return acting(request)


def part_of(request: Request, name: str) -> UUID:
    """The id of a sign-in or token in the path. Raises `UnknownObject`."""
    found = as_id(request.matchdict[name])
    if found is None:
        raise UnknownObject
    return found


def ask(
    title: TranslationString,
    button: str,
    *effects: str,
    notice: Notice = "user",
    mentioned: Sequence[str] = (_USER,),
    of_disabled: Sequence[str] = (),
    ends_role: bool = False,
    values: Values = lambda _request, _user: {},
    **options: Any,
) -> Callable[[Request], Confirmation]:
    """What the page of an action says; ``title`` has ``${user}``, the address.

    ``notice``: who gets an e-mail, which ``mentioned`` says; ``user``: the user, unless disabled;
    ``anyone``: also a disabled one; ``address``: as ``user``, also one who has not confirmed the
    address; ``link``: the effects say it. ``of_disabled``: the effects for a disabled user, if they
    are others. ``ends_role``: an owner may end to be one. ``values``: those of the template of
    further fields. ``options`` are those of `Confirmation`. The page raises `Outranked` as the
    action does.
    """

    def asked(request: Request) -> Confirmation:
        user = user_of(request)
        require_rank(administrator_of(request), user)
        effects_now = (user.disabled_at is not None and of_disabled) or effects
        return Confirmation(
            title=title % {"user": shown(user.email)},
            effects=(*effects_now, *(known_clients(request, user) if ends_role else ())),
            button=button,
            back=page_of(request, user),
            values={"user": user, **values(request, user)},
            **{"notices": _notices(user, notice, mentioned), **options},
        )

    return asked


def known_clients(request: Request, user: User) -> Sequence[str]:
    """What to say of the clients that may administer, whose secrets an owner may know."""
    if OWNER not in reserved_groups(user.labels):
        return ()
    if not (known := administering_clients(request.authsite.ctx.db)):
        return ()
    number = {"number": str(len(known))}
    return (_(_KNOWN_CLIENTS, mapping=number),)


def page_of(request: Request, user: User) -> str:
    """The path of the user's page."""
    return route_path(request, "authsite.admin.users.user", id=user.id)


def back(request: Request, user: User, what: str) -> Response:
    """Redirect to the user's page, which says ``what`` was done."""
    return confirming.done(request, page_of(request, user), what)


def _notices(user: User, notice: Notice, mentioned: Sequence[str]) -> Sequence[str]:
    if notice == "link":
        return ()
    if notice == "none":
        return (NO_NOTICE,)
    if notice != "anyone" and user.disabled_at is not None:
        return (_("No e-mail is sent: the account is disabled."),)
    if notice != "address" and user.email_verified_at is None:
        return (_("No e-mail is sent: the address of the user is not confirmed."),)
    return [each % {"user": shown(user.email)} for each in mentioned]
