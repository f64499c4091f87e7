"""For the tests of an application that includes authsite: users who are signed in already.

No password is hashed, and no login page is involved. The application must be on a database of the
tests, with the schema of `authsite.platform.db.migrate.upgrade`.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy.orm import Session

from authsite.groups import members
from authsite.groups import service as groups_service
from authsite.groups.service import GroupValues
from authsite.oauth.clients import service as clients
from authsite.oauth.tokens.issue import ClientRef, issue
from authsite.platform.audit.service import Cause
from authsite.platform.context import Context, Services
from authsite.platform.http.cookies import GUARD, SESSION
from authsite.platform.http.request_info import RequestInfo
from authsite.sign_in import gate
from authsite.sign_in.fields import read_address
from authsite.sign_in.sessions import service as sessions
from authsite.sign_in.sessions.service import guard_key
from authsite.users import service as users
from authsite.users.account import account_of
from authsite.users.groups.labels import Group, is_reserved
from authsite.users.models import User

if TYPE_CHECKING:
    from pyramid.router import Router


def bearer_token(
    app: "Router",
    email: str,
    scope: str = "",
    *,
    confirmed: bool = True,
    groups: Iterable[str] = (),
) -> str:
    """An access token of the user with this address, and with ``scope``.

    A user who does not exist is created, with a confirmed address unless ``confirmed`` is false.
    The user is added to ``groups``; one that does not exist is created, without scopes.
    Raises `ValidationFailed` for a text that is not an e-mail address, `InvalidGrant` for a
    disabled user, and `InvalidScope` for a scope for groups that the user is not in.
    """
    with _context(app) as ctx:
        user = _user(ctx, email, confirmed, groups)
        client, _secret = clients.create(ctx, "tests", "password", scope, scope)
        checked, done = ClientRef(client.id, client.epoch), gate.without_proof(account_of(user))
    with _context(app) as ctx:  # the rows of user and client are committed
        return issue(ctx, checked, done, scope).access_token


def session_cookie(
    app: "Router", email: str, *, confirmed: bool = True, groups: Iterable[str] = ()
) -> tuple[str, str]:
    """Name and value of the cookie of a signed-in browser, for requests over plain ``http``.

    It opens the routes of the application; with `session-cookie-domain` no page of authsite. The
    user and ``groups``: see `bearer_token`. Raises `ValidationFailed`, and ValueError for a
    disabled user.
    """
    with _context(app) as ctx:
        user = _user(ctx, email, confirmed, groups)
        ctx.db.flush()
        key = sessions.begin(ctx, gate.without_proof(account_of(user)), remember=False)
    if key is None:
        raise ValueError(f"the user {email} is disabled")
    services: Services = app.registry["authsite"]
    return (GUARD, guard_key(key)) if services.settings.session_cookie_domain else (SESSION, key)


@contextmanager
def _context(app: "Router") -> Iterator[Context]:
    """A context without a request; its transaction is committed at the end."""
    services: Services = app.registry["authsite"]
    with Session(services.database.transactional, expire_on_commit=False) as db, db.begin():
        yield Context(services, lambda: RequestInfo(agent="tests"), lambda: db)


def _user(ctx: Context, email: str, confirmed: bool, groups: Iterable[str]) -> User:
    address = read_address(email)
    found = users.find(ctx.db, address.key)
    user = found or users.create(ctx, [address], None, confirmed=confirmed)
    for name in groups:
        if not is_reserved(name) and ctx.db.get(Group, name) is None:
            groups_service.create(ctx, name, GroupValues(title=name), Cause("command"))
        members.enter(ctx, name, user.id)
    return user
