"""Administrators: users in reserved groups, their browser sessions and tokens, and clients."""

from sqlalchemy import update

from authsite.groups import administrators
from authsite.oauth.models import Family
from authsite.platform.audit.service import Cause
from authsite.sign_in.credentials import pack
from authsite.users.account import PASSWORD as PROVED_PASSWORD
from authsite.users.account import TOTP
from authsite.users.groups.labels import ADMIN_SCOPES
from authsite.users.models import User
from tests.step_up.people import enter
from tests.support.factors import context
from tests.support.site import PASSWORD, bearer

SETTINGS = {"admin_console": "on", "admin_api": "on"}
STRONG = (*PROVED_PASSWORD, *TOTP)


def make(site, role, email="root@example.com"):
    """A confirmed user who is in the reserved group ``authsite:<role>``."""
    user = site.user(email, confirmed=True)
    with site.db() as db:
        ctx = context(site, db)
        administrators.grant(ctx, db.get(User, user.id), role, Cause("command"))
    return user


def signed_in(site, role, email="root@example.com"):
    """An administrator, signed in on the pages with a second factor."""
    user = make(site, role, email)
    enter(site, *STRONG, email=email)
    return user


def token(site, scope, email="root@example.com", amr=STRONG):
    """The header with an access token that has ``scope``, of a sign-in with a second factor."""
    keys = site.client(scope=scope)
    answer = site.login(keys, email, PASSWORD)
    return bearer(with_scope(site, answer["access_token"], scope, amr))


def with_scope(site, access_token, scope, amr=STRONG):
    """Give the families of a token the scope and the proofs."""
    with site.db() as db:
        db.execute(update(Family).values(scope=scope, facts=pack(amr)))
    return access_token


def client(site, scope):
    """The header with an access token of a client that acts for itself."""
    keys = site.client("personal", scope=scope)
    answer = site.token(keys, grant_type="client_credentials", scope=scope)
    return bearer(answer.json["access_token"])


__all__ = ["ADMIN_SCOPES", "SETTINGS", "client", "make", "signed_in", "token", "with_scope"]
