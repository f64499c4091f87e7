"""Users with passkeys, and what the tests of passkeys do all day."""

import json
from urllib.parse import urlsplit
from uuid import uuid4

from sqlalchemy import select

from authsite.platform.runtime import clock
from authsite.sign_in.factors.policy import Proved
from authsite.sign_in.method import Pending, Target
from authsite.sign_in.methods.passkeys import registration
from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.users.account import PASSWORD, account_of
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.authenticator import ORIGIN, Authenticator
from tests.support.pages import csrf_of


def context(site, db, **info):
    """A context on the site's services."""
    return acting(db, site.app.registry["authsite"], **info)


def creation_options(site, user, bound_id):
    """The options of a new passkey for this user."""
    with site.db() as db:
        account = account_of(db.get(User, user.id))
        proved = Proved(PASSWORD, clock.now())
        return registration.options(context(site, db), account, bound_id, proved)


def pending_of(account, id, amr=PASSWORD, beside=None):
    """A pending login of the user, with this id; with ``beside`` what a step-up makes."""
    return Pending(
        key="", account=account, recognition_version=0, amr=amr, methods=("passkey",),
        target=Target(), id=id, beside=beside,
    )  # fmt: skip


def origin_of(site):
    """The origin of the site's pages."""
    parts = urlsplit(next(iter(site.cfg.base_url), ORIGIN))
    return f"{parts.scheme}://{parts.netloc}"


def register(site, user, authenticator=None, bound_id=None, name=None, **wrong):
    """Add a passkey to the user; the authenticator that has it."""
    authenticator, bound_id = (
        authenticator or Authenticator(origin=origin_of(site)),
        bound_id or uuid4(),
    )
    made = authenticator.create(creation_options(site, user, bound_id), **wrong)
    with site.db() as db:
        ctx, account = context(site, db), account_of(db.get(User, user.id))
        registration.register(ctx, account, bound_id, json.dumps(made), name, session_id=None)
    return authenticator


def sign_in_options(site):
    """What the login page's script reads."""
    return site.http.get("/login/passkey/options").json


def post(site, credential, **fields):
    """Send a credential from the login page."""
    form = {"csrf_token": csrf_of(site.http.get("/login")), "credential": credential, **fields}
    return site.http.post("/login/passkey", form, status="*")


def sign_in(site, authenticator, **wrong):
    """Use the passkey on the login page; the answer."""
    return post(site, json.dumps(authenticator.get(sign_in_options(site), **wrong)))


def is_signed_in(site):
    return site.http.get("/account", status="*").status_int == 200


def rows(site):
    with site.db() as db:
        return db.scalars(select(Passkey).order_by(Passkey.created_at)).all()


def browser_bound(site):
    """What a challenge of this browser's login page is bound to."""
    return registration.of_browser(site.http.cookies["authsite-csrf"])
